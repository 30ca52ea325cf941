import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchingLines } from '../src/converted/matching';
import { otherView, parseQuery, sourcePath } from '../src/converted/uri';
import type { Mapping } from '../src/protocol';

/** A mapping of whole lines, first to last. */
function mapping(original: [number, number], generated: [number, number]): Mapping {
    const range = ([first, last]: [number, number]) => ({
        start: { line: first, character: 0 },
        end: { line: last, character: 9 },
    });
    return { original: range(original), generated: range(generated), kind: 'moved' };
}

/** `if x:` with one statement, converted to a function that contains the statement, and a call. */
const CONDITIONAL = [mapping([1, 2], [1, 6]), mapping([1, 1], [6, 6]), mapping([2, 2], [3, 3])];

test('the smallest mapping determines the matching lines', () => {
    assert.deepEqual(matchingLines(CONDITIONAL, 'original', 2), [3]);
    assert.deepEqual(matchingLines(CONDITIONAL, 'original', 1), [6]);
    assert.deepEqual(matchingLines(CONDITIONAL, 'generated', 3), [2]);
});

test('a line that only a larger construct contains matches the whole construct', () => {
    assert.deepEqual(matchingLines(CONDITIONAL, 'generated', 4), [1, 2]);
});

test('a line outside every mapping matches no lines', () => {
    assert.deepEqual(matchingLines(CONDITIONAL, 'original', 9), []);
    assert.deepEqual(matchingLines([], 'generated', 0), []);
});

test('one line may match several lines', () => {
    const twice = [mapping([4, 4], [1, 1]), mapping([4, 4], [7, 7])];
    assert.deepEqual(matchingLines(twice, 'original', 4), [1, 7]);
});

test('a range that ends at column 0 does not include that line', () => {
    const until = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };
    assert.deepEqual(matchingLines([{ original: until, generated: until, kind: 'verbatim' }], 'original', 1), []);
});

test('a URI contains the function and the view', () => {
    assert.deepEqual(parseQuery('function=Model.call&view=full'), { function: 'Model.call', view: 'full' });
    assert.deepEqual(parseQuery('function=f.<locals>.<lambda>&view=simplified'), {
        function: 'f.<locals>.<lambda>',
        view: 'simplified',
    });
    assert.deepEqual(parseQuery('view=simplified'), { function: undefined, view: 'simplified' });
});

test('a URI contains the path of the source', () => {
    assert.equal(sourcePath('/home/ada/model.py/Model.call.full.py'), '/home/ada/model.py');
});

test('otherView switches between the views', () => {
    assert.equal(otherView('full'), 'simplified');
    assert.equal(otherView('simplified'), 'full');
});
