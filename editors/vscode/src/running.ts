/**
 * Running what is in the workspace: only where it is trusted, and only as it is saved.
 */
import * as vscode from 'vscode';
import { activeInterpreter } from './environments';

const NOT_TRUSTED = 'ag-lsp: nothing of a workspace that is not trusted is run.';

/** Whether the workspace is trusted; says so where it is not. */
export function mayRun(): boolean {
    if (!vscode.workspace.isTrusted) {
        void vscode.window.showWarningMessage(NOT_TRUSTED, 'Manage Trust').then(choice => {
            if (choice !== undefined) {
                void vscode.commands.executeCommand('workbench.trust.manage');
            }
        });
    }
    return vscode.workspace.isTrusted;
}

/** Saves a document that is edited; false where that was not done. */
export async function saved(uri: vscode.Uri): Promise<boolean> {
    const document = vscode.workspace.textDocuments.find(open => open.uri.toString() === uri.toString());
    return document === undefined || !(document.isDirty || document.isUntitled) || document.save();
}

/** Runs a program in a terminal, as `ag-lsp run` does. */
export async function run(binary: string | undefined, target?: { uri: string }): Promise<void> {
    const uri = target === undefined ? vscode.window.activeTextEditor?.document.uri : vscode.Uri.parse(target.uri);
    if (binary === undefined || uri?.scheme !== 'file' || !mayRun() || !(await saved(uri))) {
        return;
    }
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const python = await activeInterpreter(uri);
    const words = ['run', ...(python === undefined ? [] : ['--python', python]), '--', uri.fsPath];
    // A process, not a line for a shell: a path is one word, whatever is in it.
    const process = new vscode.ProcessExecution(binary, words, folder && { cwd: folder.uri.fsPath });
    const name = vscode.workspace.asRelativePath(uri, false);
    const scope = folder ?? vscode.TaskScope.Workspace;
    const task = new vscode.Task({ type: 'process', program: uri.fsPath }, scope, name, 'ag-lsp', process, []);
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: false, clear: true };
    await vscode.tasks.executeTask(task);
}
