"""Finds the line of the user's code that changes an object."""

import sys

from ..conversion import spans


def line_of_change(contents, run):
    """Returns the span at which `run` changes one of these objects. If it changes none, the span of the running code."""
    finder = _Finder(contents)
    previous = sys.gettrace()
    sys.settrace(finder.enter)
    try:
        run()
    except BaseException:  # the error is already known
        pass
    finally:
        sys.settrace(previous)
    return finder.result()


class _Finder:
    def __init__(self, contents):
        self.before = {place: place.state() for place in contents}
        self.last = None
        self.found = None

    def _is_changed(self):
        return not all(before.same(place.state()) for place, before in self.before.items())

    def enter(self, frame, event, argument):
        return self.line(frame, event, argument) if spans.is_converted_text(frame.f_code.co_filename) else None

    def line(self, frame, event, argument):
        if self.found is None:
            if self._is_changed():
                self.found = self.last
            self.last = spans.of_frame(frame) or self.last
        return self.line

    def result(self):
        if self.found is None and self._is_changed():
            self.found = self.last
        return self.found or spans.current()
