import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { INSTALL, offerBinary, SET_PATH, type Window } from '../src/missing';

/** A window whose user chooses `choice`, and the log of its events. */
function window(choice: string | undefined): { happened: string[]; window: Window } {
    const happened: string[] = [];
    return {
        happened,
        window: {
            warn: (message, ...buttons) => {
                happened.push([message, ...buttons].join('|'));
                return Promise.resolve(choice);
            },
            showInstallation: async () => happened.push('installation'),
            openPathSetting: async () => happened.push('setting'),
        },
    };
}

test('both buttons are shown, and each performs its action', async () => {
    for (const [choice, follows] of [[INSTALL, ['installation']], [SET_PATH, ['setting']], [undefined, []]] as const) {
        const { happened, window: shown } = window(choice);
        await offerBinary(shown, 'no binary');
        assert.deepEqual(happened, ['no binary|Install|Set Path', ...follows]);
    }
});

test('the walkthrough has a step about the installation', () => {
    const contributes = JSON.parse(readFileSync('package.json', 'utf8')).contributes;
    const [walkthrough] = contributes.walkthroughs;
    const step = walkthrough.steps.find((step: { id: string }) => step.id === 'binary');
    assert.equal(walkthrough.id, 'start');
    const page = readFileSync(step.media.markdown, 'utf8');
    assert.match(page, /cargo install --locked --path ag-lsp\/server/);
    assert.match(page, /git clone/);
});
