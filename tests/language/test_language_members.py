"""Members of classes that are assigned between launches, and what cannot be a member."""

from types import SimpleNamespace

import numpy as np
import pytest
from language_kit import array, raises

import quadrants as qd


def test_members_that_become_another_kind_of_thing(arch):
    """An ndarray, a field, an ndarray again, a number."""

    @qd.data_oriented
    class Changing:
        @qd.kernel
        def add(self):
            for i in range(3):
                if qd.static(not isinstance(self.x, float)):
                    self.x[i] += 1.0
                self.out[i] += self.x if qd.static(isinstance(self.x, float)) else 1.0

    c = Changing()
    first, last = array(qd.f32, [0, 0, 0]), array(qd.f32, [0, 0, 0])
    field, second = qd.field(qd.f32, 3), qd.field(qd.f32, 3)
    c.out = array(qd.f32, [0, 0, 0])
    for x in (first, field, last, 2.5, second, first, field, 2.5, last, last):
        c.x = x
        c.add()
    assert first.to_numpy().tolist() == [2, 2, 2] and last.to_numpy().tolist() == [3, 3, 3]
    assert field.to_numpy().tolist() == [2, 2, 2] and second.to_numpy().tolist() == [1, 1, 1]
    assert c.out.to_numpy().tolist() == [8 + 2 * 2.5] * 3


def test_members_that_become_containers_of_python(arch):
    @qd.data_oriented
    class Changing:
        @qd.kernel
        def total(self) -> qd.i32:
            result = 0
            if qd.static(isinstance(self.x, dict)):
                result = self.x["a"] + self.x["b"]
            elif qd.static(isinstance(self.x, list)):
                for k in qd.static(range(len(self.x))):
                    result += self.x[k]
            else:
                result = self.x[0]
            return result

    c, a = Changing(), array(qd.i32, [5, 0, 0])
    found = []
    for x in (a, [1, 2], a, [1, 2], [4], {"a": 1, "b": 9}, {"a": 1, "b": 8}, a, [4]):
        c.x = x
        found.append(c.total())
    assert found == [5, 3, 5, 3, 4, 10, 9, 5, 4]


def test_a_torch_tensor_that_is_a_member(arch):
    torch = pytest.importorskip("torch", reason="needs torch")

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.a = torch.ones(3)

        @qd.kernel
        def read(self) -> qd.f32:
            return self.a[0]

    with raises(qd.QuadrantsCompilationError, "A Tensor that is not a parameter cannot be read in a kernel; pass it"):
        Holder().read()


class Part:
    def __init__(self, x):
        self.x = x
        self.weight = 2


CHANGES = {
    "item": lambda o, new: o.listed.__setitem__(1, new),
    "list": lambda o, new: setattr(o, "listed", [o.listed[0], new]),
    "order": lambda o, new: o.listed.__setitem__(slice(None), [o.listed[0], new]),
    "entry": lambda o, new: o.named.__setitem__("a", new),
    "dict": lambda o, new: setattr(o, "named", {"a": new}),
    "tuple": lambda o, new: setattr(o, "fixed", (0, new)),
    "nested": lambda o, new: o.deep[0].__setitem__(0, new),
    "object in a list": lambda o, new: setattr(o.parts[0], "x", new),
    "object": lambda o, new: o.parts.__setitem__(0, Part(new)),
    "object in a dict of lists": lambda o, new: setattr(o.deeper["p"][0], "x", new),
    "namespace": lambda o, new: setattr(o.space, "x", new),
}


@pytest.mark.parametrize("kind", [None, "Vector"])
def test_fields_in_containers_are_looked_up_at_every_call(arch, kind):
    def field():
        return qd.field(qd.i32, 2) if kind is None else qd.Vector.field(2, qd.i32, 2)

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.listed, self.fixed, self.named = [field(), field()], (0, field()), {"a": field()}
            self.deep, self.parts, self.deeper = [[field()]], [Part(field())], {"p": [Part(field())]}
            self.space = SimpleNamespace(x=field())

        @qd.kernel
        def mark(self, n: qd.i32):
            for i in range(2):
                self.listed[1][i] += n
                self.fixed[1][i] += n
                self.named["a"][i] += n
                self.deep[0][0][i] += n
                self.parts[0].x[i] += n
                self.deeper["p"][0].x[i] += n
                self.space.x[i] += n

        def now(self):
            return [
                self.listed[1], self.fixed[1], self.named["a"], self.deep[0][0], self.parts[0].x,
                self.deeper["p"][0].x, self.space.x,
            ]  # fmt: skip

    o = Holder()
    o.mark(1)
    for name, change in CHANGES.items():
        before, new = o.now(), field()
        change(o, new)
        kept = [x for x in before if any(x is y for y in o.now())]
        old = next(x for x in before if not any(x is y for y in o.now()))
        was = int(old.to_numpy().flat[0])
        counts = [int(x.to_numpy().flat[0]) for x in kept]
        o.mark(3)
        assert int(new.to_numpy().flat[0]) == 3 and int(old.to_numpy().flat[0]) == was, name
        assert [int(x.to_numpy().flat[0]) for x in kept] == [n + 3 for n in counts], name


def test_functions_types_and_classes_are_looked_up_at_every_call(arch):
    @qd.func
    def double(x):
        return 2 * x

    @qd.func
    def triple(x):
        return 3 * x

    @qd.data_oriented
    class First:
        @qd.func
        def apply(self, x):
            return x + 10

    @qd.data_oriented
    class Second:
        @qd.func
        def apply(self, x):
            return x + 20

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.fn, self.fns, self.part, self.type, self.none = double, [double], First(), qd.u8, None

        @qd.kernel
        def run(self, x: qd.i32) -> qd.i32:
            result = self.part.apply(self.fn(x)) + 1000 * self.fns[0](x) + 100000 * qd.cast(self.type(x + 299), qd.i32)
            if qd.static(self.none != None):  # noqa: E711
                result = -1
            return result

    o = Holder()
    assert o.run(1) == 12 + 2000 + 4400000
    o.fn = triple
    assert o.run(1) == 13 + 2000 + 4400000
    o.fns[0] = triple
    assert o.run(1) == 13 + 3000 + 4400000
    o.part = Second()
    assert o.run(1) == 23 + 3000 + 4400000
    o.type = qd.i16
    assert o.run(1) == 23 + 3000 + 30000000
    o.none = 1
    assert o.run(1) == -1
    o.fn, o.fns, o.part, o.type, o.none = double, [double], First(), qd.u8, None
    assert o.run(1) == 12 + 2000 + 4400000


def test_containers_of_numbers_and_stable_members_stay_what_they_were(arch):
    @qd.data_oriented
    class Numbers:
        def __init__(self):
            self.listed = [1, (2.0, qd.Vector([3, 4]))]

        @qd.kernel
        def first(self) -> qd.i32:
            return self.listed[0]

    @qd.data_oriented(stable_members=True)
    class Stable:
        def __init__(self):
            self.fields = [qd.field(qd.i32, ())]

        @qd.kernel
        def mark(self):
            self.fields[0][None] += 1

    n, s = Numbers(), Stable()
    assert n.first() == 1
    n.listed[0] = 5
    assert n.first() == 1
    s.mark()
    first = s.fields[0]
    s.fields = [qd.field(qd.i32, ())]
    s.mark()
    assert first[None] == 2


def test_an_object_that_holds_itself(arch):
    part = Part(qd.field(qd.i32, ()))
    part.again = [part]

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.parts = [part]
            self.parts.append(self.parts)

        @qd.kernel
        def mark(self):
            self.parts[0].x[None] += 1

    o = Holder()
    o.mark()
    part.x, first = qd.field(qd.i32, ()), part.x
    o.mark()
    assert (first[None], part.x[None]) == (1, 1)


class Slots:
    __slots__ = ("x", "weight")

    def __init__(self, x):
        self.x = x
        self.weight = 2


@pytest.mark.parametrize("base", [Part, Slots])
@pytest.mark.parametrize("how", ["direct", "listed", "argument"])
def test_objects_that_can_be_called_hold_fields_like_others(arch, how, base):
    class Layer(base):
        __slots__ = ()

        def __call__(self, n):
            return n * self.weight

    @qd.data_oriented
    class Net:
        def __init__(self, layer):
            self.layer, self.layers = layer, [layer]

        @qd.kernel
        def direct(self) -> qd.i32:
            return self.layer(self.layer.x[None])

        @qd.kernel
        def listed(self) -> qd.i32:
            return self.layers[0](self.layers[0].x[None])

    @qd.kernel
    def of(layer: qd.template()) -> qd.i32:
        return layer(layer.x[None])

    layer = Layer(qd.field(qd.i32, ()))
    net = Net(layer)
    run = (lambda: of(layer)) if how == "argument" else getattr(net, how)
    layer.x[None] = 3
    assert run() == 6
    layer.x = qd.field(qd.i32, ())
    layer.x[None] = 5
    assert run() == 10


@pytest.mark.parametrize("fastcache", [False, True])
@pytest.mark.parametrize("kind", [list, dict])
def test_numbers_in_a_container_that_holds_itself(arch, kind, fastcache):
    numbers = [7] if kind is list else {0: 7}
    numbers.append(numbers) if kind is list else numbers.update({1: numbers})
    loss = qd.field(qd.f32, (), needs_grad=True)
    x = qd.field(qd.f32, (), needs_grad=True)
    x[None] = 2

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.numbers, self.loss, self.x = numbers, loss, x

        @qd.kernel(fastcache=fastcache)
        def add(self):
            self.loss[None] += self.x[None] * self.numbers[0]

    o = Holder()
    with qd.ad.Tape(loss):
        o.add()
        o.add()
    assert (loss[None], x.grad[None]) == (28, 14)


def test_an_object_that_is_in_a_list_twice(arch):
    """And one that knows what holds it: then another object, then one with the same field."""
    first, second = Part(qd.field(qd.i32, ())), Part(qd.field(qd.i32, ()))

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.parts = [first, first]

        @qd.kernel
        def mark(self):
            for k in qd.static(range(2)):
                self.parts[k].x[None] += 10**k

    o = Holder()
    first.holder = second.holder = o
    o.mark()
    o.parts[1] = second
    o.mark()
    o.parts = [second, first]
    o.mark()
    second.x = first.x
    o.mark()
    assert first.x[None] == 11 + 1 + 10 + 11


def test_a_function_of_the_object_and_one_of_its_class(arch):
    @qd.func
    def two():
        return 2

    @qd.data_oriented
    class Holder:
        @qd.func
        def number(self):
            return 1

        @qd.kernel
        def get(self) -> qd.i32:
            return self.number()

    own, plain = Holder(), Holder()
    own.number = two
    assert (own.get(), plain.get(), own.get()) == (2, 1, 2)
    del own.number
    assert own.get() == 1


def test_what_properties_find(arch):
    """Functions and types, too; one that is made anew each time is a name from outside."""

    @qd.func
    def one():
        return 1

    @qd.func
    def two():
        return 2

    @qd.data_oriented
    class Holder:
        def __init__(self, function, dtype):
            self._function, self._dtype = function, dtype

        @property
        def function(self):
            return self._function

        @property
        def dtype(self):
            return self._dtype

        @property
        def made(self):
            return lambda x: x + 1

        def __getattr__(self, name):
            if name == "found":
                return self._function
            raise AttributeError(name)

        @qd.kernel
        def get(self) -> qd.types.vector(4, qd.f32):
            return qd.Vector([self.function(), qd.cast(2.5, self.dtype), self.made(4.0), self.found()])

    o = Holder(one, qd.i32)
    assert o.get().to_list() == [1, 2, 5, 1]
    o._function, o._dtype = two, qd.f32
    assert o.get().to_list() == [2, 2.5, 5, 2]
    assert o.get().to_list() == [2, 2.5, 5, 2]


class Unpassable:
    """What kernels cannot be handed lies beside what they read."""

    def __init__(self):
        self.count = 3
        self.column = np.ones((3, 4), np.float32)[:, 0]
        self.names = np.array(["left", "right"])
        self.phases = np.zeros(3, np.complex64)


@qd.data_oriented
class OfParts:
    def __init__(self):
        self.x = qd.field(qd.f32, 4)
        self.parts = [Unpassable(), Unpassable()]
        self.names, self.every_other = np.array(["x"]), np.arange(8, dtype=np.float32)[::2]

    @qd.kernel
    def add(self):
        for i in self.x:
            self.x[i] += self.parts[0].count + self.every_other[1]


def test_arrays_that_are_no_arguments_may_be_members(arch):
    model = OfParts()
    model.add()
    model.parts[1].column = np.ones(3)[::-1]
    model.add()
    assert model.x.to_numpy().tolist() == [10.0] * 4
