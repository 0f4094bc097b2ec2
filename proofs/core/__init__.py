"""The core of the checker: one folder that imports python-flint and the standard library alone.

It knows products of pairs of laws, and the rules that most certificates need. Steps of other rules
and statements in other words belong to extensions: in the core alone their conclusions are
assumptions, which the verdict names. ``kernel.check_text`` is the door.
"""
