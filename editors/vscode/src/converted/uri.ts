/**
 * The addresses of converted documents:
 * `ag-converted:` + path of the source file + `/<name for people>?function=<qualified name>&view=<view>`.
 * The server writes them; here they are read. Knows nothing of VS Code.
 */
import type { View } from '../protocol';

export const SCHEME = 'ag-converted';

export interface Query {
    /** The qualified name of the function; undefined for the whole file. */
    function: string | undefined;
    view: View;
}

/** Reads the query of an address as `vscode.Uri` gives it, decoded once. */
export function parseQuery(text: string): Query {
    const parameters = new URLSearchParams(text);
    return {
        function: parameters.get('function') ?? undefined,
        view: parameters.get('view') === 'full' ? 'full' : 'simplified',
    };
}

/** The path of the source file, from the path of an address. */
export function sourcePath(path: string): string {
    return path.slice(0, path.lastIndexOf('/'));
}

export function otherView(view: View): View {
    return view === 'full' ? 'simplified' : 'full';
}
