/**
 * The entry point: registers commands and starts the server.
 */
import * as vscode from 'vscode';
import { ConvertedView } from './converted/view';
import { GraphView } from './graph/view';
import { Pages } from './pages';
import { explainStaging, status, type ConvertedTarget, type ExplainTarget, type GraphTarget } from './protocol';
import { run } from './running';
import { Server } from './server';
import { StatusBar } from './statusBar';

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const log = vscode.window.createOutputChannel('ag-lsp', { log: true });
    const statusBar = new StatusBar();
    const pages = new Pages();
    const view = new ConvertedView(() => server?.client);
    const graphs = new GraphView(() => server?.client);
    const started = (server = new Server(context, log, statusBar, source => view.sourceChanged(source)));

    const commands: Record<string, (...argument: never[]) => unknown> = {
        'ag-lsp.showConvertedCode': (target?: ConvertedTarget) => view.show(target),
        'ag-lsp.switchConvertedView': () => view.switchView(),
        'ag-lsp.run': (target?: { uri: string }) => run(started.binary, target),
        'ag-lsp.showGraph': (target?: Partial<GraphTarget>) => graphs.show(target),
        'ag-lsp.explainStaging': (target?: ExplainTarget) => explain(started, pages, target),
        'ag-lsp.status': () => showStatus(started, pages, log),
        'ag-lsp.restart': () => started.restart(),
        'ag-lsp.showLogs': () => log.show(),
    };
    context.subscriptions.push(
        log,
        statusBar,
        pages,
        view,
        graphs,
        started,
        ...Object.entries(commands).map(([name, handler]) => vscode.commands.registerCommand(name, handler)),
        vscode.workspace.onDidGrantWorkspaceTrust(() => started.restart()),
        vscode.workspace.onDidChangeConfiguration(event => {
            if (event.affectsConfiguration('ag-lsp.path')) {
                void started.restart();
            }
        }),
    );
    await started.restart();
}

export async function deactivate(): Promise<void> {
    await server?.stop();
}

/** Explains the function at `target` or under the cursor. */
async function explain(server: Server, pages: Pages, target?: ExplainTarget): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = target?.uri ?? editor?.document.uri.toString();
    const position = target?.position ?? editor?.selection.active;
    if (uri === undefined || position === undefined) {
        return;
    }
    const response = await server.client?.sendRequest(explainStaging, { textDocument: { uri }, position });
    if (response) {
        await pages.show('Staging', response.markdown);
    } else {
        void vscode.window.showInformationMessage('ag-lsp: no staged function at the cursor.');
    }
}

/** Shows the server's status, or the log if the server is not running. */
async function showStatus(server: Server, pages: Pages, log: vscode.LogOutputChannel): Promise<void> {
    const response = await server.client?.sendRequest(status, {});
    if (response) {
        await pages.show('Status', response.markdown);
    } else {
        log.show();
    }
}
