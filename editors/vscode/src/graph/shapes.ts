/**
 * The script of the page. It is embedded as text, so it must not refer to anything outside the function.
 */
import type { Shown, SourceLocation } from './page';

/** The part of the DOM that the script uses. */
interface Node_ {
    tagName: string;
    textContent: string | null;
    children: Iterable<Node_>;
    dataset: { file?: string; line?: string };
    getAttribute(name: string): string | null;
    setAttribute(name: string, value: string): void;
    append(...children: (Node_ | string)[]): void;
    replaceChildren(...children: Node_[]): void;
    closest(selector: string): Node_ | null;
    querySelector(selector: string): Node_ | null;
    addEventListener(event: string, listener: (event: { target: Node_ }) => void): void;
}

declare const document: Node_ & {
    createElement(name: string): Node_;
    createElementNS(space: string, name: string): Node_;
};
declare const DOMParser: new () => { parseFromString(text: string, type: string): Node_ & { documentElement: Node_ } };
declare const window: { addEventListener(event: 'message', listener: (event: { data: Shown }) => void): void };

export function draw(editor: { postMessage(location: SourceLocation): void }): void {
    const shapes = ['svg', 'g', 'rect', 'path', 'text'];
    const properties = ['class', 'x', 'y', 'width', 'height', 'rx', 'd', 'viewBox', 'data-file', 'data-line'];

    const copied = (from: Node_): Node_[] => {
        if (!shapes.includes(from.tagName)) {
            return [];
        }
        const to = document.createElementNS('http://www.w3.org/2000/svg', from.tagName);
        for (const name of properties) {
            const value = from.getAttribute(name);
            if (value !== null) {
                to.setAttribute(name, value);
            }
        }
        if (from.tagName === 'text') {
            to.textContent = from.textContent;
        } else {
            to.append(...[...from.children].flatMap(copied));
        }
        return [to];
    };

    /** Renders an error message; occurrences of `File "model.py", line 3` become links. */
    const message = (text: string): Node_ => {
        const out = document.createElement('pre');
        let end = 0;
        for (const found of text.matchAll(/File "([^"\n]+)", line (\d+)/g)) {
            const link = document.createElement('a');
            link.textContent = found[0];
            link.setAttribute('data-file', found[1] ?? '');
            link.setAttribute('data-line', found[2] ?? '');
            out.append(text.slice(end, found.index), link);
            end = found.index + found[0].length;
        }
        out.append(text.slice(end));
        return out;
    };

    window.addEventListener('message', ({ data }) => {
        const parsed = data.svg && new DOMParser().parseFromString(data.svg, 'image/svg+xml').documentElement;
        const drawing = parsed ? copied(parsed) : [message(data.failure ?? '')];
        document.querySelector('main')?.replaceChildren(...drawing);
    });
    document.addEventListener('click', ({ target }) => {
        const { file, line } = target.closest('[data-line]')?.dataset ?? {};
        if (file !== undefined && line !== undefined) {
            editor.postMessage({ file, line: Number(line) });
        }
    });
}
