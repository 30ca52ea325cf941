/**
 * The extension: what it registers, and what starts and ends with it.
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
        ...Object.entries(commands).map(([name, answer]) => vscode.commands.registerCommand(name, answer)),
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

/** Explains the function at `target`, or the one under the cursor. */
async function explain(server: Server, pages: Pages, target?: ExplainTarget): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const uri = target?.uri ?? editor?.document.uri.toString();
    const position = target?.position ?? editor?.selection.active;
    if (uri === undefined || position === undefined) {
        return;
    }
    const answer = await server.client?.sendRequest(explainStaging, { textDocument: { uri }, position });
    if (answer) {
        await pages.show('Staging', answer.markdown);
    } else {
        void vscode.window.showInformationMessage('ag-lsp: there is no staged function here.');
    }
}

/** Shows the server's state; where none runs, the log, which says why. */
async function showStatus(server: Server, pages: Pages, log: vscode.LogOutputChannel): Promise<void> {
    const answer = await server.client?.sendRequest(status, {});
    if (answer) {
        await pages.show('Status', answer.markdown);
    } else {
        log.show();
    }
}
