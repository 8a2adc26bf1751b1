import { listServedModels, updateModels } from '../../app.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { ModelPrice } from '../../session/context/model-facts.ts';
import { option, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export class ModelsCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: "List the endpoint's models.",
    details: `
      Prints each model with its context window and its prices (US dollars per million tokens in and out) if the
      endpoint reports them. The model in use is marked.

      Exit codes: 0 listed; 2 the provider has no models; 5 there is no key, or the endpoint did not answer.
    `,
    examples: [
      ['The models of the current endpoint', '$0 models'],
      ["A local server's models", '$0 models --provider ollama'],
    ],
  });

  provider = option('--provider', {
    value: '<name>',
    describe: 'The provider to ask; also: git config teddy.provider <name>.',
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { env } = this.context;
      const listed = await listServedModels(project, { provider: this.provider, env });
      const current = (await project.settings.find('model')).value;
      if (this.json) {
        this.printJson(terminal, 'models', { ...listed, current });
        return 0;
      }
      const { models, url } = listed;
      if (models.length === 0) terminal.say(`${url} lists no models.`);
      const rows = models.map(({ id, window, price }) => [
        `${id === current ? '*' : ' '} ${toVisible(id)}`,
        window === null ? '' : formatCount(window),
        price === null ? '' : renderPrice(price),
      ]);
      await this.page(terminal, project, renderColumns(rows));
      return 0;
    });
  }
}

/** Renders a price as `$1.25 / $10`. */
function renderPrice({ input, output }: ModelPrice): string {
  return [input, output].map((amount) => `$${Number(amount.toFixed(4))}`).join(' / ');
}

function renderColumns(rows: readonly string[][]): string {
  const width = (column: number) => Math.max(0, ...rows.map((row) => (row[column] ?? '').length));
  const [names, windows] = [width(0), width(1)];
  return rows
    .map(([name = '', window = '', price = '']) =>
      `${name.padEnd(names)}  ${window.padStart(windows)}  ${price}`.trimEnd().concat('\n'),
    )
    .join('');
}

export class ModelsUpdateCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Fetch a list of context windows and prices from models.dev.',
    details: `
      Only this command fetches the list. It is saved in \`.git/teddy\` with its date, and is used when the endpoint
      itself reports nothing. It takes precedence over \`git config teddy.model.<name>.window <tokens>\` and \`git
      config teddy.model.<name>.price <in>/<out>\` (US dollars per million tokens).

      Exit codes: 0 fetched; 5 the list could not be fetched, and the previous one is unchanged.
    `,
    examples: [['Fetch the list', '$0 models update']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const before = await project.models.listDate();
      const { url, count } = await updateModels(project);
      const listed = { url, count, at: await project.models.listDate(), before };
      if (this.json) this.printJson(terminal, 'models-update', listed);
      else
        terminal.say(
          `${formatCount(count)} models saved from ${url}${before === null ? '' : `, replacing the list from ${before.slice(0, 10)}`}.`,
        );
      return 0;
    });
  }
}
