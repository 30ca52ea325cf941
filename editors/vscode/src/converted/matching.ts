/**
 * Finds the lines of one side of a source map that correspond to a line of the other side. Independent of VS Code.
 */
import type { Mapping } from '../protocol';

export type Side = 'generated' | 'original';

/** The lines of a mapping on one side, both inclusive. */
interface Lines {
    first: number;
    last: number;
}

/**
 * The lines that correspond to `line` of `side`, in ascending order.
 *
 * Mappings nest (an `if` and the statements in it). The smallest mappings that contain `line` determine the result, so
 * that a line inside a loop does not match the whole loop.
 */
export function matchingLines(map: Mapping[], side: Side, line: number): number[] {
    const around = map.filter(mapping => contains(lines(mapping, side), line));
    const least = Math.min(...around.map(mapping => height(lines(mapping, side))));
    const other = side === 'generated' ? 'original' : 'generated';
    const found = new Set<number>();
    for (const mapping of around) {
        if (height(lines(mapping, side)) === least) {
            const { first, last } = lines(mapping, other);
            for (let at = first; at <= last; at++) {
                found.add(at);
            }
        }
    }
    return [...found].sort((a, b) => a - b);
}

function lines(mapping: Mapping, side: Side): Lines {
    const { start, end } = mapping[side];
    // A range that ends at column 0 does not include that line.
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
    return { first: start.line, last };
}

function contains(lines: Lines, line: number): boolean {
    return lines.first <= line && line <= lines.last;
}

function height(lines: Lines): number {
    return lines.last - lines.first;
}
