"""language.md 5: classes with kernels and funcs, attribute access, instances as keys."""

from kit import fails, specialisations


def run(qd):
    @qd.data_oriented
    class Base:
        scale = 2

        def __init__(self, n):
            self.n = n
            self.x = qd.field(qd.i32, shape=n)

        @qd.func
        def value(self, i):
            return self.scale * i + self.offset()

        @qd.func
        def offset(self):
            return 1

        @qd.kernel
        def fill(self):
            for i in range(self.n):
                self.x[i] = self.value(i)

        @qd.kernel
        def total(self, weight: qd.i32) -> qd.i32:
            s = 0
            for i in self.x:
                s += self.x[i] * weight
            return s

        @property
        def doubled(self):
            return self.n * 2

        @qd.kernel
        def uses_property(self) -> qd.i32:
            return self.doubled + self.scale

        @staticmethod
        @qd.func
        def triple(v):
            return 3 * v

        @qd.kernel
        def uses_static(self, v: qd.i32) -> qd.i32:
            return self.triple(v)

    class Derived(Base):
        scale = 10

        @qd.func
        def offset(self):
            return 5

    @qd.data_oriented
    class Holder:
        def __init__(self, a, b):
            self.parts = [a, b]
            self.first = a
            self.arr = qd.ndarray(qd.i32, shape=(3,))

        @qd.kernel
        def sums(self) -> qd.i32:
            s = 0
            for part in qd.static(self.parts):
                for i in range(part.n):
                    s += part.x[i]
            return s

        @qd.kernel
        def bump(self):
            for i in range(self.arr.shape[0]):
                self.arr[i] += i + self.first.n

        @qd.kernel
        def assigns(self):
            self.first = 3

    @qd.data_oriented(template_primitives=False)
    class Live:
        def __init__(self):
            self.k = 1
            self.f = 0.5

        @qd.kernel
        def get(self) -> qd.f32:
            return self.k * 10 + self.f

        @qd.kernel
        def bad(self) -> qd.i32:
            r = 0
            for i in qd.static(range(self.k)):
                r += i
            return r

    class Plain:
        @qd.kernel
        def method(self) -> qd.i32:
            return 3

    small, large, derived = Base(3), Base(5), Derived(4)
    for item in (small, large, derived):
        item.fill()
    totals = [small.total(1), large.total(2), derived.total(1)]
    before = small.uses_property()
    small.n = 100
    after = small.uses_property()
    holder = Holder(large, derived)
    holder.bump()
    holder.bump()
    first = holder.arr.to_numpy()
    holder.arr = qd.ndarray(qd.i32, shape=(2,))
    holder.bump()
    live = Live()
    values = [live.get()]
    live.k, live.f = 7, 0.25
    values.append(live.get())
    return {
        "x": [small.x.to_numpy(), large.x.to_numpy(), derived.x.to_numpy()],
        "totals": totals,
        "baked": [before, after],
        "uses_static": derived.uses_static(5),
        "sums": holder.sums(),
        "arr": [first, holder.arr.to_numpy()],
        "live": values,
        "live_specialisations": specialisations(Live.get) if hasattr(Live.get, "_primal") else 1,
        "live_static": fails(live.bad, "cannot be used inside qd.static()"),
        "assigns": fails(holder.assigns, "cannot be assigned"),
        "undecorated": fails(lambda: Plain().method(), "Please decorate class Plain with @qd.data_oriented"),
    }
