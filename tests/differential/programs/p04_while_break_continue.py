"""language.md 13.3, 13.4: `while`, `break`, `continue`, and where they are errors."""

from kit import fails


def run(qd):
    out = qd.field(qd.i32, shape=32)

    @qd.func
    def below(i, n):
        return i < n

    @qd.kernel
    def collatz(n: qd.i32) -> qd.i32:
        steps = 0
        v = n
        while v != 1:
            if v % 2 == 0:
                v //= 2
            else:
                v = 3 * v + 1
            steps += 1
        return steps

    @qd.kernel
    def forever() -> qd.i32:
        n = 0
        while True:
            n += 3
            if n > 20:
                break
        return n

    @qd.kernel
    def skipping() -> qd.i32:
        s = 0
        for _ in range(1):
            i = 0
            while below(i, 10):
                i += 1
                if i % 3 == 0:
                    continue
                if i == 8:
                    break
                s = s * 10 + i
        return s

    @qd.kernel
    def serialised() -> qd.i32:
        count = 0
        qd.loop_config(serialize=True)
        for i in range(10):
            if i == 3:
                break
            count += 1
        return count

    @qd.kernel
    def parallel_continue():
        for i in range(32):
            if i % 4 == 1:
                continue
            out[i] = i
            for j in range(100):
                if j > i:
                    break
                if j % 2 == 1:
                    continue
                out[i] += 100

    @qd.kernel
    def in_runtime_if(flag: qd.i32) -> qd.i32:
        n = 0
        if flag:
            for i in range(10):
                if i == 4:
                    break
                n += 1
        return n

    @qd.kernel
    def inner_only() -> qd.i32:
        n = 0
        for i in range(4):
            for j in range(10):
                if j == i:
                    break
                n += 1
        return n

    @qd.kernel
    def break_task():
        for i in range(10):
            if i == 3:
                break
            out[i] = 1

    @qd.kernel
    def else_clause():
        for i in range(10):
            out[i] = 1
        else:
            out[0] = 2

    @qd.kernel
    def float_condition(x: qd.f32) -> qd.i32:
        n = 0
        while x:
            n += 1
        return n

    @qd.kernel
    def break_static():
        for i in range(3):
            for j in qd.static(range(3)):
                if i == j:
                    break
                out[i] = j

    @qd.kernel
    def u64_condition(v: qd.u64) -> qd.i32:
        r = 0
        if v:
            r = 1
        return r

    parallel_continue()
    return {
        "collatz": [collatz(1), collatz(6), collatz(27)],
        "forever": forever(),
        "skipping": skipping(),
        "serialised": serialised(),
        "parallel_continue": out.to_numpy(),
        "in_runtime_if": [in_runtime_if(0), in_runtime_if(1)],
        "inner_only": inner_only(),
        "u64_condition": [u64_condition(0), u64_condition(1 << 40)],
        "break_task": fails(break_task, "Cannot break in the outermost loop"),
        "else_clause": fails(else_clause, "'else' clause for"),
        "float_condition": fails(lambda: float_condition(1.0), "conditions must be an integer"),
        "break_static": fails(break_static, "You are trying to `break` a static `for` loop"),
    }
