"""Functions of Python and torch that have a staged form. The modules of this package register theirs when they are
imported."""

#: function -> its staged form, which takes the same arguments
OVERLOADS = {}
