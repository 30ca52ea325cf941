"""Finds the line of the user's code that changes an object."""

import sys

from ..conversion import spans


def line_of_change(contents, run):
    """The span at which `run` changes an object; that of the running code if it does not."""
    finder = _Finder(contents)
    previous = sys.gettrace()
    sys.settrace(finder.enter)
    try:
        run()
    except BaseException:  # what is wrong is known already
        pass
    finally:
        sys.settrace(previous)
    return finder.result()


class _Finder:
    def __init__(self, contents):
        self.contents = contents
        self.before = contents.state()
        self.last = None
        self.found = None

    def enter(self, frame, event, argument):
        return self.line(frame, event, argument) if spans.is_converted_text(frame.f_code.co_filename) else None

    def line(self, frame, event, argument):
        if self.found is None:
            if not self.before.same(self.contents.state()):
                self.found = self.last
            self.last = spans.of_frame(frame) or self.last
        return self.line

    def result(self):
        if self.found is None and not self.before.same(self.contents.state()):
            self.found = self.last
        return self.found or spans.current()
