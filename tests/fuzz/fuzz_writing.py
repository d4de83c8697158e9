"""Statements that write through views of views, by methods and by values of the host, and those
that take along any axis. A statement whose target its text does not begin with names it in a
comment: `# to v3`."""

from fuzz_maker import Maker

PLACED = ("[0]", "[-1]", "[1:]", "[:-1]", "[::2]", "[::-1]", "[...]", ".T", ".T[0]", ".T[1:]", "[::-1][1:]",
          ".reshape(-1)", ".reshape(-1)[1:]", ".ravel()", ".ravel()[::2]", "[None][0]", ".squeeze()",
          "[..., 0]", "[..., ::-1]", "[..., None]", ".swapaxes(0, -1)", ".reshape(-1, 1)",
          ".reshape(2, -1)", ".reshape({a}.shape[::-1])", ".T.reshape(-1)", ".flat[1:3]")  # fmt: skip
ELIDED = 1 << 18  # bytes from which NumPy computes in a temporary's memory, and in its order


class Writing(Maker):
    def kind(self, name):
        return self.env[name].dtype.kind

    def through(self):
        """A view of a view is written, or a copy, which leaves the variable as it was."""
        a, b = self.some(), self.some()
        if "c" in (self.kind(a), self.kind(b)) or self.env[a].nbytes >= ELIDED:
            return False
        views = self.pick(PLACED), self.pick(PLACED)
        place = (a + views[0] + (views[1] if self.chance(2) else "")).replace("{a}", a)
        sign = self.pick(("", "+", "-", "*"))
        # (NumPy spoils a[::2] = a[:5]: of one dimension it copies forwards, whatever overlaps)
        value = self.pick(
            (self.number(), f"{place}[::-1]", f"{a}[:1] + 0", f"{b} + 0", f"{b}[:1] + 0", "[2]")
        )
        line = f"t = {place}; t[...] {sign}= {value}  # to {a}"
        return self.try_line(line, None, self.is_rough(a) or self.is_rough(b), writes=a)

    def host_values(self):
        """Numbers that are the host's: lists, ranges, arrays of another dtype."""
        a = self.some()
        shape = self.env[a].shape
        if not shape or self.kind(a) == "c":
            return False
        n = shape[-1]
        numbers = [self.pick((0, 1, 2, 3)) for _ in range(min(n, 5))]
        values = self.pick((str(numbers), f"tuple({numbers})", f"np.array({numbers}, 'i2')",
                            f"range({len(numbers)})", f"[True] * {len(numbers)}",
                            f"np.array({numbers}, 'f4')[::-1]"))  # fmt: skip
        forms = [f"{a}[..., :{len(numbers)}] = {values}", f"{a}[..., -{len(numbers)}:] += {values}",
                 f"{a}.fill({self.number()})", f"{a}.flat[{self.draw(0, self.env[a].size - 1)}] = 1",
                 f"{a}.flat = {values}", f"{a}.put([0, -1], {values}, mode='wrap')",
                 f"np.copyto({a}[..., :{len(numbers)}], {values}, casting='unsafe')",
                 f"np.place({a}, np.arange({a}.size).reshape({a}.shape) % 3 == 0, {values})",
                 f"{a}[{a}.shape[0] // 2] = {self.number()}"] if self.env[a].size else []  # fmt: skip
        if len(shape) > 1:
            forms.append(f"np.fill_diagonal({a}, {self.number()})")
        if not forms:
            return False
        return self.try_line(f"{self.pick(forms)}  # to {a}", None, self.is_rough(a), writes=a)

    def methods(self):
        """In place by a method, or by out=, which may overlap what is read."""
        a, b = self.some(), self.some()
        if "c" in (self.kind(a), self.kind(b)) or self.env[a].ndim == 0:
            return False
        rough = self.is_rough(a)
        axis = self.draw(0, self.env[a].ndim - 1)
        forms = [("np.add({a}[1:], {a}[:-1], out={a}[1:])", rough),
                 ("np.subtract({a}[:-1], {a}[1:], out={a}[:-1])", rough),
                 ("np.negative({a}, out={a}[::-1])", rough),
                 ("np.multiply({a}[::-1], 0.5, out={a}, casting='unsafe')", rough),
                 ("np.maximum({a}, {a}.T, out={a})", rough), ("np.clip({a}, -1, 2, out={a})", rough),
                 ("np.copyto({a}[1:], {a}[:-1])", rough), ("np.copyto({a}, {a}.T)", rough),
                 ("np.add({a}, {b}, out={a}, casting='unsafe')", rough or self.is_rough(b)),
                 (f"np.maximum.accumulate({{a}}, axis={axis}, out={{a}})", rough),
                 ("np.take({a}, [0, -1, 0], axis=0, out={a}[:3], mode='wrap')", rough)]  # fmt: skip
        if not self.is_long_half(a):
            forms.append(
                (f"np.cumsum({{a}}, axis={axis}, out={{a}})", rough or self.kind(a) == "f")
            )
        if self.env[a].ndim > 1 and self.kind(a) == "f":
            forms += [("np.matmul({a}[..., :1], {a}[..., :1, :], out={a})", rough),
                      ("np.matmul({a}[..., :1] + 0, {a}[..., :1, :] + 0, out={a})", rough)] * 3  # fmt: skip
        if not rough:
            forms += [(f"{{a}}.sort(axis={axis}, kind='stable')", rough),
                      ("np.add({a}, 1, out={a}, where={a} > 0, casting='unsafe')", rough),
                      (f"np.put_along_axis({{a}}, np.argmax({{a}}, axis={axis}, keepdims=True), 2, {axis})",
                       rough)]  # fmt: skip
        form, rough = self.pick(forms)
        return self.try_line(f"{form.format(a=a, b=b)}  # to {a}", None, rough, writes=a)

    def rows(self):
        """Loops over the rows of an array, each a view."""
        a = self.some()
        b = self.fitting(a)
        shape = self.env[a].shape
        if "c" in (self.kind(a), self.kind(b)) or not len(shape) >= 1 or not 0 < shape[0] <= 40:
            return False
        rough = self.is_rough(a)
        forms = [("for r in {a}: r[...] = r[::-1]", rough), ("for r in {a}: r += 1", rough),
                 ("for k in range(len({a})): {a}[k] = {a}[k - 1] * 0.5", rough),
                 ("for k, r in enumerate({a}): r[...] = k", rough),
                 ("for k in range(len({a}) - 1): {a}[k + 1] += {a}[k]", rough),
                 ("for r, s in zip({a}, {b}): r -= s", rough or self.is_rough(b)),
                 ("for k in range(len({a})): {a}[k], {a}[-1] = {a}[-1], {a}[k].copy()", rough),
                 ("for r in {a}[1:]: r *= {a}[0]", rough),
                 ("for k in range(len({a})): {a}[k, :k] -= {a}[0, :k]", rough)]  # fmt: skip
        form, rough = self.pick(forms)
        return self.try_line(f"{form.format(a=a, b=b)}  # to {a}", None, rough, writes=a)

    def along(self):
        """Elements taken along any axis."""
        a, v = self.some(), self.new()
        shape = self.env[a].shape
        if not shape or not all(shape):
            return False
        axis = self.draw(0, len(shape) - 1)
        n = shape[axis]
        index = [self.draw(-n, n - 1) for _ in range(self.draw(1, 6))]
        keep = [bool(self.chance(2)) for _ in range(min(n, 8))]
        forms = [f"np.take({a}, {index}, axis={axis})", f"np.take({a}, [{index}, {index}], axis={axis})",
                 f"np.take({a}, {[k + n for k in index]}, axis={axis}, mode='wrap')",
                 f"np.take({a}, {[k - 2 for k in index]}, axis={axis}, mode='clip')",
                 f"np.take({a}, {index})" if n == shape[0] else f"{a}.take({index}, {axis})",
                 f"np.compress({keep}, {a}, axis={axis})", f"np.repeat({a}, {self.draw(0, 3)}, axis={axis})",
                 f"np.roll({a}, ({index[0]}, 1), ({axis}, 0))", f"np.delete({a}, {index[0]}, axis={axis})",
                 f"np.concatenate([{a}, np.flip({a}, {axis})], axis={axis})", f"{a}.swapaxes(0, {axis})",
                 f"np.split({a}, [1, 2], axis={axis})[-1]", f"np.insert({a}, 1, 2, axis={axis})",
                 f"np.lib.stride_tricks.sliding_window_view({a}, {min(n, 3)}, axis={axis})",
                 f"np.diff({a}, axis={axis}, prepend=0)", f"np.choose([0, 1, 0], [{a}[..., :1], 2])",
                 f"np.stack([{a}, {a}], axis={axis})", f"np.moveaxis({a}, {axis}, -1)"]  # fmt: skip
        return self.try_line(f"{v} = {self.pick(forms)}", v, self.is_rough(a))

    def seen_otherwise(self):
        """The same memory under another shape, dtype or name."""
        a, v = self.some(), self.new()
        kind = self.kind(a)
        if self.env[a].nbytes >= ELIDED:
            return False
        forms = [f"{a}.ravel()", f"{a}.squeeze()", f"np.atleast_2d({a})", f"{a}.reshape(2, -1)", f"{a}[:]",
                 f"{a}.reshape({a}.shape[::-1])", f"{a}", f"{a}.T.reshape(-1, 1)", f"np.asarray({a})",
                 f"np.array({a}, copy=None)", f"np.reshape({a}, -1, order='F')"]  # fmt: skip
        if kind == "c":
            forms += [f"{a}.real", f"{a}.imag"] * 4
        if kind in "iu?":
            forms += [f"{a}.view('u1')", f"{a}.view('i{self.env[a].itemsize}')"] * 2
        return self.try_line(f"{v} = {self.pick(forms)}", v, self.is_rough(a))

    def by_ufunc(self):
        """Methods and less common arguments of ufuncs."""
        a, v = self.some(), self.new()
        b = self.fitting(a)
        rough, both = self.is_rough(a), self.is_rough(a) or self.is_rough(b)
        kinds = self.kind(a) + self.kind(b)
        if "c" in kinds or self.env[a].ndim == 0 or not all(self.env[a].shape):
            return False
        inexact = "f" in kinds
        axis = self.draw(0, self.env[a].ndim - 1)
        n = self.env[a].shape[axis]
        places = sorted(self.draw(0, n - 1) for _ in range(3))
        forms = [(f"np.add.reduceat({a}, {places}, axis={axis})", rough or inexact),
                 (f"np.maximum.reduceat({a}, {places}, axis={axis}) + 0", rough),
                 (f"np.multiply.outer({a}.ravel()[:20], {b}.ravel()[:30])", both),
                 (f"np.maximum.outer({a}.ravel()[:20], {b}.ravel()[:30]) + 0", both),
                 (f"np.minimum.reduce({a}, axis={axis}, initial=1) + 0", rough),
                 (f"np.add({a}, {b}, dtype='f8')", both), (f"np.ldexp({a}, 2)", rough)]  # fmt: skip
        if not both:
            forms += [(f"np.divmod({a}, {b})[{self.draw(0, 1)}]", False), (f"np.square({a}, dtype='f8')", False),
                      (f"np.logical_xor.reduce({a}, axis={axis})", False), (f"{a} ** 2", False),
                      (f"np.less({a}, {b}).astype('i4')", False), (f"np.isin({a}, [0, 1, 2])", False),
                      (f"np.nanmax({a}, axis={axis}) + 0", False), (f"np.ptp({a}, axis={axis})", False),
                      (f"np.count_nonzero({a}, axis={axis})", False), (f"np.sign({a}) * {b}", False)]  # fmt: skip
        if set(kinds) <= set("iu?"):
            forms += [(f"{a} & {b}", False), (f"{a} | {b}", False), (f"{a} ^ {b}", False), (f"~{a}", False),
                      (f"{a} << 1", False), (f"{a} >> 1", False), (f"np.gcd({a}, {b})", False),
                      (f"np.bitwise_or.reduce({a}, axis={axis})", False), (f"{a} // 3", False),
                      (f"{a} % 3", False), (f"np.add.accumulate({a}, axis={axis})", False)] * 2  # fmt: skip
        elif not both:
            forms += [(f"np.modf({a})[{self.draw(0, 1)}]", False), (f"np.frexp({a})[{self.draw(0, 1)}]", False),
                      (f"np.nan_to_num({a}, posinf=3, neginf=-3)", False), (f"np.spacing({a})", False)]  # fmt: skip
        form, rough = self.pick(forms)
        return self.try_line(f"{v} = {form}", v, rough)
