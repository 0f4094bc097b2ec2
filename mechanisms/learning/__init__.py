"""Private learners: mechanisms on labelled records, one algorithm a file.

A learner adds up one bounded contribution per record, computed on an integer grid so that it is a
function of the released state and of that record alone, and releases the sum with noise.
"""
