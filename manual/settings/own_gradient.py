import quadrants as qd

qd.init(arch=qd.cpu)


@qd.ad.grad_replaced
def forward():
    pass


EXAMPLE
