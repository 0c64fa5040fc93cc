"""language.md 13.1, 2.2: tasks in order, variables across tasks, funcs with loops, serialised loops, loop_config."""

from kit import fails


def run(qd):
    f = qd.field(qd.i32, shape=1000)
    out = qd.field(qd.i32, shape=16)
    level = 1

    @qd.kernel
    def shared(n: qd.i32) -> qd.types.vector(6, qd.i32):
        s = 0
        m = 0
        for i in range(n):
            f[i] = i
        for i in f:
            s += f[i]
        if s > 0:
            for i in range(3):
                m += i
        b = s
        for i in range(n):
            f[i] += b
        c = 0
        for i in range(n):
            c |= 1 << (i % 5)
        x = 0
        for i in range(n):
            x ^= i
        y = 1000
        for i in range(n):
            y -= 1
        return qd.Vector([s, m, f[3], c, x, y])

    @qd.func
    def fill(value, n):
        for i in range(n):
            f[i] = value + i

    @qd.kernel
    def call_top(n: qd.i32):
        fill(10, n)
        fill(f[0], n)

    @qd.kernel
    def call_nested(n: qd.i32):
        if n > 0:
            fill(10, n)
            fill(f[0], n)

    @qd.kernel
    def ordered(n: qd.i32):
        qd.loop_config(serialize=level < 2)
        for i in range(n):
            out[0] = out[0] * 3 + i
        qd.loop_config(parallelize=1)
        for i in range(4):
            out[1] = out[1] * 10 + i
        qd.loop_config(block_dim=64, name="named")
        for i in range(16):
            if i > 1:
                out[i] += i

    @qd.kernel
    def private() -> qd.i32:
        total = 0
        for i in range(100):
            t = i
            t *= 2
            local = qd.Vector([t, i])
            local[0] += 1
            total += local[0] - local[1]
        return total

    @qd.kernel
    def real_total() -> qd.f64:
        s = qd.cast(0, qd.f64)
        for i in range(1000):
            s += 0.5
        return s

    @qd.kernel
    def positional():
        qd.loop_config(True)
        for i in range(3):
            f[i] = 0

    @qd.kernel
    def unknown():
        qd.loop_config(block_dim_adaptive=True)
        for i in range(3):
            f[i] = 0

    @qd.func(requires_top_level=True)
    def top_only():
        for i in range(3):
            f[i] = 1

    @qd.kernel
    def not_top(n: qd.i32):
        if n > 0:
            top_only()

    @qd.func
    def recursive(n):
        return n + 1

    shared_values = shared(1000).to_numpy()
    call_top(8)
    top = f.to_numpy()[:8]
    call_nested(8)
    ordered(6)
    return {
        "shared": shared_values,
        "call_top": top,
        "call_nested": f.to_numpy()[:8],
        "ordered": out.to_numpy(),
        "private": private(),
        "real_total": real_total(),
        "positional": fails(positional, ""),
        "unknown": fails(unknown, ""),
        "not_top": fails(lambda: not_top(1), "requires_top_level=True"),
    }
