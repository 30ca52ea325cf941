// Runs the steps of the scenario inside VS Code and checks their results.
// Writes the results to the folder AG_LSP_SCENARIO, where `drive.mjs` reads them and takes screenshots.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

const folder = process.env.AG_LSP_SCENARIO;

/** Waits until `condition` returns a value. The error message on timeout contains `what`. */
async function until(what, condition) {
    const end = Date.now() + 60_000;
    while (Date.now() < end) {
        const answer = await condition();
        if (answer) {
            return answer;
        }
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    throw new Error(`timeout while waiting for ${what}`);
}

/** Requests a screenshot as soon as the window contains `text`. */
async function picture(name, text = '') {
    fs.writeFileSync(path.join(folder, `${name}.new`), text);
    fs.renameSync(path.join(folder, `${name}.new`), path.join(folder, `${name}.wanted`));
    await until(`the picture ${name}`, () => fs.existsSync(path.join(folder, `${name}.taken`)));
}

/** Requests a click on the first occurrence of `text`. */
async function clicked(name, text) {
    fs.writeFileSync(path.join(folder, `${name}.click`), text);
    await until(`the click ${name}`, () => fs.existsSync(path.join(folder, `${name}.taken`)));
}

const call = (command, ...given) => vscode.commands.executeCommand(command, ...given);

function position(document, text, offset = 0) {
    const at = document.getText().indexOf(text);
    assert.notEqual(at, -1, `no \`${text}\` in ${document.uri}`);
    return document.positionAt(at + offset);
}

function diagnostic(document, code) {
    return vscode.languages.getDiagnostics(document.uri).find(found => (found.code?.value ?? found.code) === code);
}

/** Opens the scenario's source in an editor. */
async function source() {
    const [root] = vscode.workspace.workspaceFolders;
    const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root.uri, 'model.py'));
    return vscode.window.showTextDocument(document, vscode.ViewColumn.One);
}

/** Opens a program of the runtime in an editor. */
async function program() {
    const [root] = vscode.workspace.workspaceFolders;
    const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root.uri, 'program.py'));
    return vscode.window.showTextDocument(document, vscode.ViewColumn.One);
}

/** Replaces text of the program and saves it. */
async function edited(from, to) {
    const editor = await program();
    const start = position(editor.document, from);
    await editor.edit(edit => edit.replace(new vscode.Range(start, start.translate(0, from.length)), to));
    assert.ok(await editor.document.save());
}

async function lensOf(document, command) {
    const lenses = await call('vscode.executeCodeLensProvider', document.uri, 100);
    return lenses.find(lens => lens.command?.command === command);
}

function converted() {
    return vscode.window.visibleTextEditors.find(editor => editor.document.uri.scheme === 'ag-converted');
}

/** Whether a tab with this title is active. */
function shows(title) {
    return vscode.window.tabGroups.all.some(group => title.test(group.activeTab?.label));
}

function select(editor, place) {
    editor.selection = new vscode.Selection(place, place);
}

const steps = {
    async diagnostics() {
        const { document } = await source();
        const found = await until('AG101', () => diagnostic(document, 'AG101'));
        assert.equal(found.severity, vscode.DiagnosticSeverity.Error);
        assert.equal(found.source, 'ag-lsp');
        assert.ok(found.relatedInformation?.length > 0, 'no reasons');
        assert.equal(vscode.languages.getDiagnostics(document.uri).length, 2);
        await call('workbench.actions.view.problems');
        await source();
        await picture('diagnostics');
        await call('workbench.action.closePanel');
    },

    async 'the page of a rule'() {
        const { document } = await source();
        const { code } = diagnostic(document, 'AG101');
        const page = await vscode.workspace.openTextDocument(code.target);
        assert.match(page.getText(), /What it does/);
    },

    async hover() {
        const editor = await source();
        const place = position(editor.document, 'norm > limit', 5);
        const hovers = await until('a hover', async () => {
            const hovers = await call('vscode.executeHoverProvider', editor.document.uri, place);
            return hovers.length > 0 && hovers;
        });
        const said = hovers.flatMap(hover => hover.contents.map(content => content.value)).join('\n');
        assert.match(said, /staged/);
        assert.match(said, /tf\.norm/);
        select(editor, place);
        await call('editor.action.showHover');
        await picture('hover');
    },

    async hints() {
        const { document } = await source();
        const whole = new vscode.Range(0, 0, document.lineCount, 0);
        const hints = await until('a hint', async () => {
            const hints = await call('vscode.executeInlayHintProvider', document.uri, whole);
            return hints.length > 0 && hints;
        });
        const line = position(document, 'if norm > limit').line;
        const label = ({ label }) => (typeof label === 'string' ? label : label.map(part => part.value).join(''));
        assert.ok(hints.some(hint => hint.position.line === line && /staged/.test(label(hint))));
    },

    async 'settings reach the server'() {
        const { document } = await source();
        const settings = vscode.workspace.getConfiguration('ag-lsp');
        const ignore = rules => settings.update('ignore', rules, vscode.ConfigurationTarget.Workspace);
        await ignore(['AG101']);
        await until('the finding to go', () => !diagnostic(document, 'AG101')).finally(() => ignore(undefined));
        await until('the finding to come back', () => diagnostic(document, 'AG101'));
    },

    async 'converted code'() {
        const editor = await source();
        const lenses = await until('lenses', async () => {
            const lenses = await call('vscode.executeCodeLensProvider', editor.document.uri, 100);
            return lenses.length > 0 && lenses;
        });
        const lens = lenses.find(({ command }) => command?.command === 'ag-lsp.showConvertedCode');
        assert.ok(lens, 'no lens shows converted code');
        await call(lens.command.command, ...lens.command.arguments);
        const shown = await until('the converted code', () => converted());
        assert.match(shown.document.getText(), /if_stmt/);
        assert.doesNotMatch(shown.document.getText(), /def .*largest/);
        select(await source(), position(editor.document, 'gradient * scale'));
        await picture('converted');
    },

    async 'converted code follows'() {
        const editor = await source();
        await editor.edit(edit => edit.insert(position(editor.document, 'return gradient * scale', 23), ' * 12345'));
        await until('the converted code to follow', () => converted()?.document.getText().includes('12345'));
        await picture('followed');
    },

    async 'definition of converted code'() {
        const { document } = await source();
        const shown = converted().document;
        const places = await until('the definition', async () => {
            const places = await call('vscode.executeDefinitionProvider', shown.uri, position(shown, '12345'));
            return places.length > 0 && places;
        });
        const place = places[0];
        assert.equal((place.targetUri ?? place.uri).toString(), document.uri.toString());
        assert.equal((place.targetRange ?? place.range).start.line, position(document, '12345').line);
    },

    async 'full view'() {
        const simplified = converted().document.getText();
        await vscode.window.showTextDocument(converted().document, converted().viewColumn);
        await call('ag-lsp.switchConvertedView');
        await until('the full view', () => (converted()?.document.getText().length ?? 0) > simplified.length);
        await picture('full');
        await call('workbench.action.closeEditorsInGroup');
    },

    async 'quick fix'() {
        const editor = await source();
        const range = (await until('AG109', () => diagnostic(editor.document, 'AG109'))).range;
        select(editor, range.start);
        const actions = await until('the repair', async () => {
            const actions = await call('vscode.executeCodeActionProvider', editor.document.uri, range, 'quickfix', 20);
            return actions.length > 0 && actions;
        });
        await call('editor.action.quickFix');
        await picture('actions');
        const repair = actions.find(action => action.edit && /== 0/.test(action.title));
        assert.ok(repair, `no repair among: ${actions.map(action => action.title).join(', ')}`);
        await vscode.workspace.applyEdit(repair.edit);
        assert.match(editor.document.getText(), /if tf\.math\.count_nonzero\(values\) == 0:/);
        await until('the finding to go', () => !diagnostic(editor.document, 'AG109'));
    },

    async 'explain staging'() {
        const editor = await source();
        select(editor, position(editor.document, 'norm > limit'));
        await call('ag-lsp.explainStaging');
        await until('the page', () => shows(/Staging/));
        await picture('explained', 'norm > limit');
        await call('workbench.action.closeEditorsInOtherGroups');
    },

    async status() {
        await source();
        await call('ag-lsp.status');
        await until('the page', () => shows(/Status/));
        await picture('status', 'memory');
    },

    async 'show graph'() {
        const { document } = await program();
        const lens = await until('the lens', () => lensOf(document, 'ag-lsp.showGraph'));
        const [target] = lens.command.arguments;
        await call('ag-lsp.showGraph', { ...target, inputs: 'n=i64[]' });
        await until('the panel', () => shows(/Graph of collatz/));
        await picture('graph', 'aten.remainder');
        // The graph is redrawn on save, and shows errors.
        await edited('steps = 0', 'steps = nothing');
        await picture('graph-failed', "name 'nothing' is not defined");
        await edited('steps = nothing', 'steps = 0');
        await picture('graph-again', 'aten.remainder');
        await clicked('graph-clicked', 'aten.remainder');
        const line = position(document, 'n % 2').line;
        await until('the line of the node', () => {
            const editor = vscode.window.activeTextEditor;
            return editor?.document.uri.toString() === document.uri.toString() && editor.selection.start.line === line;
        });
        await call('workbench.action.closeEditorsInOtherGroups');
    },

    async run() {
        const { document } = await program();
        const lens = await until('the lens', () => lensOf(document, 'ag-lsp.run'));
        const ended = new Promise(resolve => vscode.tasks.onDidEndTaskProcess(event => resolve(event.exitCode)));
        await call(lens.command.command, ...lens.command.arguments);
        await picture('run', 'collatz 100');
        assert.equal(await ended, 0);
        await call('workbench.action.closePanel');
    },

    async restart() {
        const { document } = await source();
        await call('ag-lsp.restart');
        await until('the findings of the new server', () => diagnostic(document, 'AG101'));
    },
};

async function play() {
    const wanted = process.env.AG_LSP_STEPS?.split(',').filter(Boolean) ?? [];
    for (const [name, step] of Object.entries(steps)) {
        if (wanted.length > 0 && !wanted.includes(name)) {
            continue;
        }
        const failure = await step().then(
            () => null,
            error => error.stack ?? String(error),
        );
        fs.appendFileSync(path.join(folder, 'results.jsonl'), `${JSON.stringify({ name, failure })}\n`);
        if (failure !== null && step === steps.diagnostics) {
            break; // Without diagnostics the server is not running, so the other steps would fail too.
        }
    }
    fs.writeFileSync(path.join(folder, 'done'), '');
}

exports.activate = () => void play();
