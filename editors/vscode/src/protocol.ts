/**
 * What the server offers beyond the standard: the requests, and what travels in them.
 */
import {
    NotificationType,
    RequestType,
    type Position,
    type Range,
    type TextDocumentIdentifier,
} from 'vscode-languageclient/node';

export type View = 'simplified' | 'full';

/** A stretch of converted text and the stretch of source that it stands for. */
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

/** `function` is the one at `position`; null where there is none. */
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

/** The function named, or the one at `position`, with the inputs used last or proposed; null where there is none. */
export const graphInputs = new RequestType<
    { textDocument: TextDocumentIdentifier; position?: Position; function?: string },
    { function: string; inputs: string } | null,
    void
>('ag-lsp/graphInputs');

/** Either a drawing, or what was said where there is none. */
export interface Graph {
    function: string;
    inputs: string;
    svg: string | null;
    failure: string | null;
}

/** Null if the user has cancelled it. */
export const graph = new RequestType<GraphTarget & { python?: string }, Graph | null, void>('ag-lsp/graph');

/** What a lens or a code action hands to "show graph". */
export interface GraphTarget {
    uri: string;
    function: string;
    /** `x=f32[32,10] n=3` */
    inputs?: string;
}

/** What a lens or a code action hands to "show converted code". */
export interface ConvertedTarget {
    uri: string;
    function?: string;
    view?: View;
}

/** What a lens or a code action hands to "explain staging". */
export interface ExplainTarget {
    uri: string;
    position: Position;
}
