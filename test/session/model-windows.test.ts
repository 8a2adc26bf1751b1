import * as published from 'gpt-tokenizer/models';
import { describe, expect, test } from 'vitest';
import { toBudget } from '../../src/session/context/budget.ts';

const defaultBudget = (model: string) => toBudget(undefined, model);

interface PublishedModel {
  context_window?: number;
  max_output_tokens?: number;
  max_input_tokens?: number;
  supported_endpoints?: string[];
}

/** OpenAI's chat models, as listed in a tokenizer's data. */
const chatModels = Object.entries(published as Record<string, PublishedModel>).filter(
  ([name, { context_window: window, supported_endpoints: endpoints }]) =>
    window !== undefined && endpoints?.includes('chat_completions') === true && !/audio|realtime/.test(name),
);

describe("a model's room", () => {
  test('is within its window minus its largest answer, for every OpenAI model', () => {
    expect(chatModels.length).toBeGreaterThan(40);
    const tooMuch = chatModels.filter(([name, { context_window: window = 0, max_output_tokens: answer = 0 }]) =>
      // If an answer may fill the whole window, part of the window is kept free.
      answer < window ? defaultBudget(name) > window - answer : defaultBudget(name) >= window,
    );
    expect(tooMuch.map(([name]) => name)).toEqual([]);
  });

  test('is exactly that for the models in use', () => {
    const names = (
      'gpt-5 gpt-5-mini gpt-5-nano gpt-5-codex gpt-5-chat-latest gpt-5-pro gpt-5.1 gpt-5.2 gpt-5.4 gpt-5.4-mini gpt-5.5 ' +
      'gpt-4.1 gpt-4.1-mini gpt-4o gpt-4o-mini o1 o3 o4-mini'
    ).split(' ');
    const windows = published as Record<string, PublishedModel>;
    expect(names.map(defaultBudget)).toEqual(
      names.map((name) => (windows[name]?.context_window ?? 0) - (windows[name]?.max_output_tokens ?? 0)),
    );
  });

  test("is found by the longest prefix of the name, after the maker's name", () => {
    expect(defaultBudget('gpt-5.4-mini-2026-03-17')).toBe(272_000);
    expect(defaultBudget('openai/gpt-4.1-nano')).toBe(defaultBudget('gpt-4.1'));
    expect(defaultBudget('openrouter/anthropic/Claude-Sonnet-4')).toBe(136_000);
    expect(defaultBudget('meta-llama/Llama-3.3-70B-Instruct')).toBe(defaultBudget('llama3.3:70b'));
    expect(defaultBudget('mistralai/mixtral-8x7b')).toBe(24_576);
  });

  test.each(['none', 'manual', 'scripted', '', 'my-gpt-5', 'openai/'])('is 128,000 minus 16,384 for %j', (name) =>
    expect(defaultBudget(name)).toBe(111_616),
  );
});
