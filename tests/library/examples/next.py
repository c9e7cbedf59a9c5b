"""The characters that a model expects after a text:  next.py RUN TEXT [LIBRARY]

Without a package: the C interface through ctypes.
"""

import ctypes
import math
import sys

if len(sys.argv) < 3:
    sys.exit("usage: next.py RUN TEXT [LIBRARY]")
run, text = (word.encode() for word in sys.argv[1:3])
lib = ctypes.CDLL(sys.argv[3] if len(sys.argv) > 3 else "libchargpt.so.1")
lib.chargpt_last_error.restype = ctypes.c_char_p
lib.chargpt_vocabulary_size.restype = ctypes.c_int64
lib.chargpt_vocabulary_size.argtypes = [ctypes.c_void_p]
lib.chargpt_symbol.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]
lib.chargpt_close.argtypes = [ctypes.c_void_p]


def check(status):
    if status != 0:
        sys.exit(f"next.py: {lib.chargpt_last_error().decode()}")


def symbol(identifier):
    letters, length = ctypes.create_string_buffer(4), ctypes.c_size_t()
    check(lib.chargpt_symbol(model, identifier, letters, ctypes.byref(length)))
    return letters.raw[: length.value].decode(errors="replace")


model = ctypes.c_void_p()
check(lib.chargpt_open(run, None, ctypes.byref(model)))
size = lib.chargpt_vocabulary_size(model)
logits = (ctypes.c_float * size)()
check(lib.chargpt_logits(model, text, ctypes.c_size_t(len(text)), 0, logits, ctypes.c_size_t(size)))
largest = max(logits)
total = sum(math.exp(logit - largest) for logit in logits)
for identifier in sorted(range(size), key=lambda i: -logits[i])[:5]:
    print(f"{symbol(identifier)!r} {math.exp(logits[identifier] - largest) / total:.3f}")
lib.chargpt_close(model)
