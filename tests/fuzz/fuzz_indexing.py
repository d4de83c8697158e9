"""Statements that index by arrays and masks, multiply matrices, or lay elements out anew."""

from fuzz_maker import Maker


class Indexing(Maker):
    def places(self, extent):
        """Text of indices within an extent, some of them twice; an array, or a list."""
        count = self.draw(1, 6)
        text = str([self.draw(-extent, extent - 1) for _ in range(count)])
        return self.pick((text, f"np.array({text})", f"np.array({text}, 'i4')"))

    def advanced(self, name):
        """Text of an index with an array in it; None: the variable has no elements to name."""
        shape = self.env[name].shape
        if not shape or not all(shape):
            return None
        axis = self.draw(0, len(shape) - 1)
        forms = [", ".join([":"] * axis + [self.places(shape[axis])]), self.places(shape[0])]
        if len(shape) > 1:
            first, last = ([self.draw(-n, n - 1) for _ in range(3)] for n in (shape[0], shape[-1]))
            forms += [f"{first}, ..., {last}", f"{first}, 1:", f"np.ix_({first}, {last[:2]})",
                      f"..., {last}, None"]  # fmt: skip
        return self.pick(forms)

    def take(self):
        a, v = self.some(), self.new()
        index = self.advanced(a)
        return bool(index) and self.try_line(f"{v} = {a}[{index}]", v, self.is_rough(a))

    def place(self):
        """Elements that an array names are written."""
        a = self.some()
        index = self.advanced(a)
        if not index or self.env[a].dtype.kind == "c":
            return False
        sign = self.pick(("", "+", "-", "*"))
        b = self.some()
        rough = self.is_rough(a)
        forms = [f"{a}[{index}] {sign}= {self.number()}", f"{a}[{index}] = {a}[{index}][::-1]",
                 f"np.add.at({a}, {self.places(self.env[a].shape[0])}, {self.number()})",
                 f"np.put({a}, {self.places(self.env[a].size)}, {self.number()})"]  # fmt: skip
        if self.env[b].dtype.kind != "c":
            forms.append(f"{a}[{index}] {sign}= {b}[{index}]")
        line = self.pick(forms)
        rough = rough or (f"= {b}[" in line and self.is_rough(b))
        return self.try_line(line, None, rough, writes=a)

    def masked(self):
        """Where a mask says; the mask is an expression."""
        a, m = self.some(), self.some(rough=False)
        if m is None or "c" in (self.env[a].dtype.kind, self.env[m].dtype.kind):
            return False
        b = self.fitting(a)
        if self.env[b].dtype.kind == "c":
            return False
        mask = self.pick((f"{m} > {self.number()}", f"np.isfinite({m})", f"({m} < 1) & ({m} >= 0)",
                          f"~({m} > {m}[..., :1])"))  # fmt: skip
        number, v = self.number(), self.new()
        rough = self.is_rough(a)
        with_b = rough or self.is_rough(b)
        if self.chance(2):
            form, rough = self.pick(
                ((f"np.where({mask}, {a}, {b}) * {number}", with_b),
                 (f"np.add({a}, {b}, out={a} * 0, where={mask})", with_b),
                 (f"np.clip({a}, -0.5, {number} + 1)", rough),
                 (f"np.select([{mask}, {mask}], [{a}, {b}], 3)", with_b),
                 (f"np.max({a}, axis=-1, where={mask}, initial=-1) + 0", rough),
                 (f"np.sum({a}, axis=0, where={mask})", True))
            )  # fmt: skip
            return self.try_line(f"{v} = {form}", v, rough)
        form, rough = self.pick(
            ((f"{a}[{mask}] = {number}", rough), (f"{a}[{mask}] *= 0.5", rough),
             # (NumPy copies nothing from an array of one address and shape, whatever the mask's shape is)
             (f"np.copyto({a}, {b}, where=np.broadcast_to({mask}, {a}.shape), casting='same_kind')", with_b),
             (f"np.putmask({a}, {mask}, {number})", rough),
             (f"{a}[{mask}] = {b}[{mask}]", with_b), (f"np.place({a}, {mask}, [{number}, 2])", rough))
        )  # fmt: skip
        return self.try_line(form, None, rough, writes=a)

    def product(self):
        a, b, v = self.some(), self.some(), self.new()
        kinds = [self.env[n].dtype for n in (a, b)]
        if "e" in (k.char for k in kinds):
            return False  # NumPy sums halves as halves
        if self.is_large(a) or self.is_large(b):
            return False  # what cancels leaves rounding alone
        rough = self.is_rough(a) or self.is_rough(b) or any(k.kind in "fc" for k in kinds)
        form = self.pick(
            ("np.matmul({a}, {b}.T)", "np.matmul({a}.T, {b})", "np.dot({a}, {b}.T)",
             "np.inner({a}, {b})", "np.matmul({a}, {b})", "np.tensordot({a}, {b}, 1)",
             "np.matmul(np.stack([{a}, {a}]), {b}.T)", "np.matmul({a}[..., None, :], {b}.T)",
             "np.einsum('...i,...i->...', {a}, {b})", "np.outer({a}.ravel()[:40], {b}.ravel()[:50])")
        )  # fmt: skip
        sizes = [self.env[n].size for n in (a, b)]
        if max(sizes) > 40_000 or 0 in (self.env[a].ndim, self.env[b].ndim):
            return False  # of a number, NumPy's is BLAS's axpy, which skips 0 times NaN
        return self.try_line(f"{v} = {form.format(a=a, b=b)}", v, rough)

    def shaped(self):
        """Elements in other places, or some of them again."""
        a, v = self.some(), self.new()
        rough = self.is_rough(a)
        kind, ndim = self.env[a].dtype.kind, self.env[a].ndim
        forms = [f"np.pad({a}, 1)", f"np.pad({a}, 2, mode='edge')", f"np.tile({a}, 2)",
                 f"np.hstack([{a}, {a}])", f"np.vstack([{a}, {a}])", f"np.ravel({a}, 'F')",
                 f"np.array([{a}, {a}])", f"np.append({a}, {a})", f"np.expand_dims({a}, -1)"]  # fmt: skip
        if ndim:
            forms += [f"np.array_split({a}, 3)[1]", f"np.moveaxis({a}, 0, -1)", f"np.delete({a}, 0, 0)",
                      f"np.insert({a}, 0, 1, axis=0)", f"np.pad({a}, 1, mode='wrap')"]  # fmt: skip
        if ndim > 1:
            forms += [f"np.tril({a})", f"np.triu({a}, 1)", f"np.rot90({a})", f"np.trace({a})"]
        if not rough and kind in "iuf" and ndim:
            forms += [f"np.argsort({a}, axis=-1, kind='stable')", f"np.searchsorted(np.arange(9), {a})",
                      f"np.take_along_axis({a}, np.argsort({a}, axis=0, kind='stable'), 0) + 0",
                      f"np.digitize({a}, [0, 1, 2])"]  # fmt: skip
        form = self.pick(forms)
        rough = rough or ("trace" in form and kind in "fc")
        return self.try_line(f"{v} = {form}", v, rough)
