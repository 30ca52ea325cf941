"""Exceptions: where they are raised, which handler catches them, their causes and contexts."""

from environment import *


def safe_divide(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return None


def which_handler(error):
    try:
        raise error
    except (KeyError, IndexError):
        return "lookup"
    except Fault as fault:
        return "fault", fault.args
    except Oops as oops:
        return "oops", oops.args
    except Exception:
        return "other"


def handler_name_is_removed():
    error = "outer"
    try:
        raise Oops(1)
    except Oops as error:
        pass
    return error


def handler_name_kept_otherwise():
    error = "outer"
    try:
        pass
    except Oops as error:
        pass
    return error


def handler_name_in_closure():
    try:
        raise Oops(1)
    except Oops as error:
        read = lambda: error
        inside = read().args
    try:
        read()
    except NameError as missing:
        return inside, str(missing)


def order_of_parts(fail):
    note("start")
    try:
        note("try")
        if fail:
            raise Oops("failed")
    except Oops as error:
        note("except", error)
    else:
        note("else")
    finally:
        note("finally")
    note("end")


def nested_finally():
    try:
        try:
            raise Oops("inner")
        finally:
            note("inner finally")
    except Oops:
        note("caught")
    finally:
        note("outer finally")


def finally_replaces():
    try:
        raise Oops("first")
    finally:
        raise Fault("second")


def raise_from(cause):
    try:
        raise cause
    except Exception as error:
        raise Oops("outer") from error


def raise_from_none():
    try:
        raise Oops("hidden")
    except Oops:
        raise Fault("shown") from None


def raise_again(flag):
    try:
        raise Oops("again")
    except Oops:
        if flag:
            raise
    return "kept quiet"


def raise_without_any():
    raise


def implicit_context():
    try:
        {}["missing"]
    except KeyError:
        return 1 // 0


def retry(times):
    attempts = 0
    while True:
        attempts += 1
        try:
            if attempts < times:
                raise Oops(attempts)
        except Oops as error:
            note("failed", error)
            continue
        else:
            break
    return attempts


def first_that_works(functions):
    for function in functions:
        try:
            result = function()
        except Exception as error:
            note("no", type(error).__name__)
        else:
            return result
    raise Oops("none worked")


def suppressed_in_loop(items):
    good = []
    for item in items:
        try:
            good.append(int(item))
        except ValueError:
            pass
    return good


def partial_effects(items):
    total = 0
    try:
        for item in items:
            total += item
    except TypeError as error:
        note("stopped", error)
    return total


def bound_before_the_error(flag):
    try:
        x = 1
        if flag:
            raise Oops
        y = 2
    except Oops:
        pass
    return x, y


def assertion(value):
    assert value, f"not {value!r}"
    return value


def assertion_without_message(value):
    assert value
    return value


def assertion_message_is_lazy(value):
    assert value, note("message", value)


def exception_group():
    try:
        raise ExceptionGroup("many", [Oops(1), ValueError(2)])
    except* Oops as group:
        note("oops", group.exceptions)
    except* ValueError as group:
        note("values", group.exceptions)


def exception_class_not_instance(flag):
    if flag:
        raise Oops
    raise Fault()


def bad_raise(value):
    raise value


def handler_is_an_expression(kinds):
    try:
        raise Oops("x")
    except note("kinds", kinds):
        return "caught"


def handlers_run_in_order():
    try:
        raise Oops("x")
    except note("first", ValueError):
        pass
    except note("second", Oops):
        return 2
    except note("third", Exception):
        return 3


def nested_handlers():
    try:
        try:
            raise ValueError("a")
        except ValueError:
            try:
                raise KeyError("b")
            except KeyError as key:
                note("context", key.__context__)
            raise
    except ValueError as error:
        return error.args


def with_note(value):
    try:
        int(value)
    except ValueError as error:
        error.add_note("while reading")
        raise


def error_in_condition(value):
    if value.missing:
        return 1
    return 2


def error_in_loop_head(value):
    for x in value.missing:
        return x


def error_in_the_middle(x):
    a = x
    b = a + 1
    c = b / (a - 1)
    d = c * 2
    return d


def deep_error(n):
    if n:
        return deep_error(n - 1)
    raise Oops("deep")


def control_flow_by_exceptions(words):
    class Found(Exception):
        pass

    try:
        for word in words:
            for letter in word:
                if letter == "x":
                    raise Found(word)
    except Found as found:
        return found.args[0]
    else:
        return None


CALLS = [
    "safe_divide(1, 2)", "safe_divide(1, 0)", "safe_divide(1, 'a')",
    "[which_handler(e) for e in (KeyError(), IndexError(), Fault(1), Oops(2), ValueError())]", "which_handler(3)",
    "handler_name_is_removed()", "handler_name_kept_otherwise()", "handler_name_in_closure()",
    "order_of_parts(True)", "order_of_parts(False)", "nested_finally()", "finally_replaces()",
    "raise_from(ValueError(1))", "raise_from(3)", "raise_from_none()", "raise_again(True)", "raise_again(False)",
    "raise_without_any()", "implicit_context()", "retry(3)",
    "first_that_works([lambda: 1 // 0, lambda: 'ok'])", "first_that_works([lambda: [][0]])", "first_that_works([])",
    "suppressed_in_loop(['1', 'x', '2'])", "suppressed_in_loop([None])", "partial_effects([1, 2, 'x', 4])",
    "bound_before_the_error(True)", "bound_before_the_error(False)",
    "assertion(1)", "assertion(0)", "assertion(Truth('t', False))", "assertion_without_message([])",
    "assertion_message_is_lazy(1)", "assertion_message_is_lazy(0)", "exception_group()",
    "exception_class_not_instance(True)", "exception_class_not_instance(False)", "bad_raise(3)", "bad_raise(None)",
    "handler_is_an_expression(Oops)", "handler_is_an_expression((ValueError, Oops))", "handler_is_an_expression(3)",
    "handlers_run_in_order()", "nested_handlers()", "with_note('x')", "error_in_condition(3)", "error_in_loop_head(3)",
    "error_in_the_middle(1)", "error_in_the_middle(3)", "deep_error(3)",
    "control_flow_by_exceptions(['abc', 'axb'])", "control_flow_by_exceptions([])",
]
