"""The core of the checker: one folder that imports python-flint and the standard library alone.

It knows products of pairs of laws, and the rules that most certificates need. What belongs to an
extension is an assumption, which the verdict names. ``kernel.check_text`` is the door.
"""
