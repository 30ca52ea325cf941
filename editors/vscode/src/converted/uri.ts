/**
 * Parses the URIs of converted documents, which the server creates. Independent of VS Code. Format:
 * `ag-converted:` + path of the source file + `/<display name>?function=<qualified name>&view=<view>`.
 */
import type { View } from '../protocol';

export const SCHEME = 'ag-converted';

export interface Query {
    /** The qualified name of the function; undefined for the whole file. */
    function: string | undefined;
    view: View;
}

/** Parses the decoded query of a URI. */
export function parseQuery(text: string): Query {
    const parameters = new URLSearchParams(text);
    return {
        function: parameters.get('function') ?? undefined,
        view: parameters.get('view') === 'full' ? 'full' : 'simplified',
    };
}

/** The path of the source file, given the path of a URI. */
export function sourcePath(path: string): string {
    return path.slice(0, path.lastIndexOf('/'));
}

export function otherView(view: View): View {
    return view === 'full' ? 'simplified' : 'full';
}
