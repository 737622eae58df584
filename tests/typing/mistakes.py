"""Mistakes that checkers must find, each in a line marked `refused`, and nothing else."""

import arrayx as xp

x = xp.ones((2, 2))

xp.zeros("2")  # refused
xp.zeros(2, dtype="float64")  # refused
xp.zeros(2, xp.float64)  # refused
xp.sum(x, 0)  # refused
xp.sum(x, axis="rows")  # refused
xp.sin([1.0, 2.0])  # refused
xp.concat(x, x)  # refused
xp.reshape(x, 4)  # refused
xp.searchsorted(x, x, side="middle")  # refused
xp.linalg.qr(x, mode="raw")  # refused
xp.not_a_function(x)  # refused
x.not_a_method()  # refused
x + "1"  # refused
x["name"]  # refused
x.shape = (4,)  # refused
xp.unique_all(x).no_such_field  # refused
xp.load("file.npy", mmap_mode="w")  # refused


class Child(xp.Array):  # refused
    pass


number: int = xp.sum(x)  # refused
size: int = x.size
total: xp.Array = xp.sum(x)
