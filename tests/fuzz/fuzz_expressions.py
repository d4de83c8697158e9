"""Statements of several operations: expressions, whose temporaries die where they are read, and
loops, whose turns are one program of the engine met again or a trace that is full.

All but functions of rough variables round as IEEE 754 says, each operation once: such a statement
gives NumPy's bits however the engine cuts it.
"""

from fuzz_maker import Maker

EXACT = ("negative", "absolute", "square", "sqrt", "floor", "sign", "rint")
SMOOTH = ("negative", "absolute")
SIGNS = ("+", "-", "*")


class Expressions(Maker):
    def part(self, name):
        """Text of a variable, or of some of its elements again in its shape."""
        shape = self.env[name].shape
        if not shape or not shape[0] or not self.chance(3):
            return name
        axis = self.draw(0, len(shape) - 1)
        shift = self.draw(-3, 3)
        return self.pick(
            (f"np.roll({name}, {shift}, {axis})", f"{name}[::-1]", f"{name}[{name}.shape[0] - 1]",
             f"np.concatenate([{name}[1:], {name}[:1]])", f"({name}.max(axis={axis}, keepdims=True) + 0)",
             f"{name}.copy()", f"np.flip({name}, {axis})")
        )  # fmt: skip

    def term(self, depth, names):
        """Text of an expression over variables that broadcast with each other, which it may ask for
        comparisons where none of them is rough; `names` grows by those that it reads. Extremes may
        be zeros of either sign: nothing is divided by them."""
        if depth == 0 or self.chance(6):
            if len(names) > 1 and self.chance(5):
                return self.number()
            names.append(self.fitting(names[0], *names[1:]))
            return self.part(names[-1])
        kind = self.draw(0, 5)
        left = self.term(depth - 1, names)
        if kind == 0:
            function = self.pick(SMOOTH if self.rough_of(names) else EXACT)
            return f"np.{function}({left})"
        right = self.term(depth - 1, names)
        if kind == 1 and not self.rough_of(names):
            return f"np.where({left} < {right}, {left}, {self.number()})"
        if kind == 2:
            return f"np.{self.pick(('maximum', 'minimum'))}({left}, {right})"
        divides = kind == 3 and not self.rough_of(names) and "max" not in right + left
        sign = "/" if divides and "min" not in right + left else self.pick(SIGNS)
        return f"({left} {sign} {right})"

    def rough_of(self, names):
        return any(self.is_rough(n) for n in names)

    def any_complex(self, names):
        return any(self.env[n].dtype.kind == "c" for n in names)

    def some_term(self):
        """Text, whether it is rough; None: it would ask a rough variable."""
        names = [self.some()]
        text = self.term(self.draw(1, 3), names)
        rough = self.rough_of(names)
        asks = any(word in text for word in ("<", "/", "sqrt", "square", "floor", "sign", "rint"))
        if (rough and asks) or self.any_complex(names):
            return None, False
        return text, rough

    def expression(self):
        text, rough = self.some_term()
        v = self.new()
        return bool(text) and self.try_line(f"{v} = {text}", v, rough)

    def update_by(self):
        """In place by an expression: the whole, or a part of it."""
        a = self.some()
        text, rough = self.some_term()
        if not text or self.env[a].dtype.kind == "c":
            return False
        index = self.pick(("...", "1:", ":-1", self.index(a)))
        form = self.pick((f"{a} {self.pick(SIGNS)}= {text}", f"{a}[{index}] = {text}",
                          f"{a}[{index}] {self.pick(SIGNS)}= ({text})[{index}]"))  # fmt: skip
        return self.try_line(form, None, rough or self.is_rough(a), writes=a)

    def loop(self):
        """The same again and again; nothing grows, or sums of it would be of rounding alone."""
        a = self.some(rough=False)
        if a is None or self.env[a].ndim == 0 or self.env[a].dtype.kind == "c":
            return False
        turns = self.draw(2, 90) if self.env[a].size < 5000 else self.draw(2, 9)
        body = self.pick(
            ("{a}[1:-1] = ({a}[:-2] + {a}[2:]) * 0.5", "{a}[...] = ({a} + {a}[::-1]) * 0.5",
             "{a} *= 0.5", "{a} += {a}[::-1] * 1e-3",
             "{a}[1:] -= {a}[:-1] * 0.25", "{a}[...] = np.where({a} > 1, {a} * 0.5, {a} + 1)",
             "{a} -= ({a}.max(axis=-1, keepdims=True) + 0) * 0.125", "{a}[::2] += 1", "{a} += {b}",
             "{a}[...] = np.roll({a}, 1, -1) * 0.5 - {a} * 0.5", "{a}[k % len({a})] += k")
        )  # fmt: skip
        b = self.fitting(a)
        if "{b}" in body and self.is_rough(b):
            return False
        line = f"for k in range({turns}): {body.format(a=a, b=b)}"
        return self.try_line(line, None, writes=a)
