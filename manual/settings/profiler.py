import quadrants as qd

qd.init(arch=qd.cpu, kernel_profiler=True)
x = qd.field(qd.f32, shape=8)
dram = qd.profiler.CuptiMetric("dram__bytes.sum")


@qd.kernel
def step():
    for i in x:
        x[i] += 1.0


step()
EXAMPLE
