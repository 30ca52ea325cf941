/**
 * The server's extensions of the protocol: requests, notifications and their types.
 */
import {
    NotificationType,
    RequestType,
    type Position,
    type Range,
    type TextDocumentIdentifier,
} from 'vscode-languageclient/node';

export type View = 'simplified' | 'full';

/** A range of converted text and the corresponding range of the source. */
export interface Mapping {
    generated: Range;
    original: Range;
    kind: 'verbatim' | 'moved' | 'synthesized';
}

export interface ConvertedParams {
    textDocument: TextDocumentIdentifier;
    position?: Position;
    function?: string;
    view?: View;
}

export interface Converted {
    uri: string;
    text: string;
    view: View;
    function: string | null;
    map: Mapping[];
}

/** `function` defaults to the function at `position`. Null if there is no such function. */
export const convertedDocument = new RequestType<ConvertedParams, Converted | null, void>('ag-lsp/convertedDocument');

export const convertedDocumentChanged = new NotificationType<{ uri: string; version?: number }>(
    'ag-lsp/convertedDocumentChanged',
);

export const explainStaging = new RequestType<
    { textDocument: TextDocumentIdentifier; position: Position },
    { function: string; markdown: string } | null,
    void
>('ag-lsp/explainStaging');

export const status = new RequestType<object, { markdown: string }, void>('ag-lsp/status');

/**
 * The inputs used last for a function (named or at `position`), or proposed inputs. Null if there is no such function.
 */
export const graphInputs = new RequestType<
    { textDocument: TextDocumentIdentifier; position?: Position; function?: string },
    { function: string; inputs: string } | null,
    void
>('ag-lsp/graphInputs');

/** A drawing or an error message. */
export interface Graph {
    function: string;
    inputs: string;
    svg: string | null;
    failure: string | null;
}

/** Null if the user has cancelled the request. */
export const graph = new RequestType<GraphTarget & { python?: string }, Graph | null, void>('ag-lsp/graph');

/** Argument of the command "Show Graph" in a lens or code action. */
export interface GraphTarget {
    uri: string;
    function: string;
    /** `x=f32[32,10] n=3` */
    inputs?: string;
}

/** Argument of the command "Show Converted Code" in a lens or code action. */
export interface ConvertedTarget {
    uri: string;
    function?: string;
    view?: View;
}

/** Argument of the command "Explain Staging" in a lens or code action. */
export interface ExplainTarget {
    uri: string;
    position: Position;
}
