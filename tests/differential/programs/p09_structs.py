"""language.md 2.5: struct types and @qd.dataclass, methods by reference, copies, nesting, fields of structs."""

import numpy as np
from kit import fails


def run(qd):
    @qd.dataclass
    class Ball:
        pos: qd.types.vector(2, qd.f32)
        mass: qd.f32
        hits: qd.i32

        @qd.func
        def move(self, dx, dy):
            self.pos += qd.Vector([dx, dy])
            self.hits += 1

        @qd.func
        def energy(self):
            return self.mass * self.pos.norm_sqr()

    pair = qd.types.struct(left=Ball, right=Ball, tag=qd.i64)
    balls = Ball.field(shape=3)
    pairs = pair.field(shape=(2,))
    soa = Ball.field(shape=3, layout=qd.Layout.SOA)

    @qd.kernel
    def work() -> qd.f32:
        local = Ball(pos=[1.0, 2.0], mass=3.0)
        local.move(1.0, 1.0)
        copy = balls[1]
        copy.move(100.0, 100.0)
        for _ in range(2):
            balls[0].move(0.5, 0.25)
        balls[1].mass = 7.0
        balls[2] = local
        balls[2].pos[1] += 10.0
        balls[2].pos.x *= 3.0
        p = pairs[0]
        p.left.mass = 4.0
        p.right = local
        pairs[1] = p
        pairs[1].right.hits += 5
        pairs[1].tag = 1 << 20
        empty = Ball()
        return local.energy() + empty.energy() + copy.pos.x

    @qd.kernel
    def into_soa():
        for i in soa:
            soa[i] = balls[i]
            soa[i].hits += 100

    @qd.func
    def by_value(b):
        b.mass = 1000.0
        return b.mass

    @qd.func
    def by_reference(b: qd.template()):
        b.mass = 2000.0

    @qd.kernel
    def passing() -> qd.types.vector(3, qd.f32):
        b = Ball(mass=1.0)
        by_value(b)
        first = b.mass
        by_reference(b)
        by_reference(balls[0])
        return qd.Vector([first, b.mass, balls[0].mass])

    @qd.kernel
    def argument(b: Ball) -> Ball:
        c = b
        c.mass += 1.0
        c.move(1.0, 0.0)
        return c

    @qd.kernel
    def scalar_to_struct():
        b = Ball()
        b = 3.0

    @qd.kernel
    def no_member() -> qd.f32:
        b = Ball()
        return b.colour

    value = work()
    into_soa()
    passed = passing()
    returned = argument(Ball(pos=[1.0, 2.0], mass=5.0, hits=1))
    host = Ball(pos=[1.5, 2.5], mass=2.0)
    balls[1] = host
    return {
        "value": value,
        "balls": {k: v for k, v in balls.to_numpy().items()},
        "soa": {k: v for k, v in soa.to_numpy().items()},
        "pairs_right_pos": pairs.right.pos.to_numpy(),
        "pairs_tag": pairs.tag.to_numpy(),
        "pairs_left_mass": pairs.left.mass.to_numpy(),
        "passed": passed.to_numpy(),
        "returned": [returned.mass, returned.hits, np.array(returned.pos.to_list(), np.float32)],
        "host": [host.mass, host.hits],
        "scalar_to_struct": fails(scalar_to_struct, ""),
        "no_member": fails(no_member, ""),
    }
