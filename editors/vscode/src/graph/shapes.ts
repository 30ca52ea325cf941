/**
 * The script of the page, and the only one: it is handed to the page as text, so it names nothing from outside of itself.
 */
import type { Place, Shown } from './page';

/** What the script uses of the page that it runs in. */
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
    addEventListener(event: string, heard: (event: { target: Node_ }) => void): void;
}

declare const document: Node_ & {
    createElement(name: string): Node_;
    createElementNS(space: string, name: string): Node_;
};
declare const DOMParser: new () => { parseFromString(text: string, type: string): Node_ & { documentElement: Node_ } };
declare const window: { addEventListener(event: 'message', heard: (event: { data: Shown }) => void): void };

export function draw(editor: { postMessage(place: Place): void }): void {
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

    /** What was said, with its `File "model.py", line 3` to click on. */
    const said = (text: string): Node_ => {
        const out = document.createElement('pre');
        let end = 0;
        for (const found of text.matchAll(/File "([^"\n]+)", line (\d+)/g)) {
            const place = document.createElement('a');
            place.textContent = found[0];
            place.setAttribute('data-file', found[1] ?? '');
            place.setAttribute('data-line', found[2] ?? '');
            out.append(text.slice(end, found.index), place);
            end = found.index + found[0].length;
        }
        out.append(text.slice(end));
        return out;
    };

    window.addEventListener('message', ({ data }) => {
        const parsed = data.svg && new DOMParser().parseFromString(data.svg, 'image/svg+xml').documentElement;
        const drawing = parsed ? copied(parsed) : [said(data.failure ?? '')];
        document.querySelector('main')?.replaceChildren(...drawing);
    });
    document.addEventListener('click', ({ target }) => {
        const { file, line } = target.closest('[data-line]')?.dataset ?? {};
        if (file !== undefined && line !== undefined) {
            editor.postMessage({ file, line: Number(line) });
        }
    });
}
