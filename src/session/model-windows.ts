/** How much a model can be shown: the published context windows, by the beginning of the model's name. */

interface ModelWindow {
  /** Tokens of request and answer together. */
  window: number;
  /** Tokens kept free for the answer, its reasoning included. */
  answer: number;
}

/** The longest beginning counts. `answer` is the model's published maximum, or less where that is the whole window. */
const windows: Readonly<Record<string, ModelWindow>> = {
  'chatgpt-4o': { window: 128_000, answer: 16_384 },
  'codex-mini': { window: 200_000, answer: 100_000 },
  'gpt-3.5': { window: 16_385, answer: 4_096 },
  'gpt-3.5-turbo-instruct': { window: 4_096, answer: 1_024 },
  'gpt-4': { window: 8_192, answer: 4_096 },
  'gpt-4-turbo': { window: 128_000, answer: 4_096 },
  'gpt-4.1': { window: 1_047_576, answer: 32_768 },
  'gpt-4.5': { window: 128_000, answer: 16_384 },
  'gpt-4o': { window: 128_000, answer: 16_384 },
  'gpt-5': { window: 400_000, answer: 128_000 },
  'gpt-5-chat': { window: 128_000, answer: 16_384 },
  'gpt-5-pro': { window: 400_000, answer: 272_000 },
  'gpt-5.1-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.2-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.3-chat': { window: 128_000, answer: 16_384 },
  'gpt-5.4': { window: 1_050_000, answer: 128_000 },
  'gpt-5.4-mini': { window: 400_000, answer: 128_000 },
  'gpt-5.4-nano': { window: 400_000, answer: 128_000 },
  'gpt-5.5': { window: 1_050_000, answer: 128_000 },
  'gpt-oss': { window: 131_072, answer: 32_768 },
  o1: { window: 200_000, answer: 100_000 },
  'o1-mini': { window: 128_000, answer: 65_536 },
  'o1-preview': { window: 128_000, answer: 32_768 },
  o3: { window: 200_000, answer: 100_000 },
  'o4-mini': { window: 200_000, answer: 100_000 },
  claude: { window: 200_000, answer: 64_000 },
  'claude-3-': { window: 200_000, answer: 8_192 },
  'claude-3-7': { window: 200_000, answer: 64_000 },
  'claude-3.5': { window: 200_000, answer: 8_192 },
  gemini: { window: 1_048_576, answer: 65_536 },
  'gemini-1.5': { window: 1_048_576, answer: 8_192 },
  'gemini-2.0': { window: 1_048_576, answer: 8_192 },
  deepseek: { window: 128_000, answer: 8_192 },
  'deepseek-r': { window: 128_000, answer: 65_536 },
  qwen: { window: 131_072, answer: 8_192 },
  'qwen-max': { window: 32_768, answer: 8_192 },
  'qwen2.5': { window: 32_768, answer: 8_192 },
  'qwen3-coder': { window: 262_144, answer: 65_536 },
  'qwen3-max': { window: 262_144, answer: 65_536 },
  'llama-3': { window: 131_072, answer: 8_192 },
  llama3: { window: 8_192, answer: 2_048 },
  'llama3.1': { window: 131_072, answer: 8_192 },
  'llama3.2': { window: 131_072, answer: 8_192 },
  'llama3.3': { window: 131_072, answer: 8_192 },
  'llama-4': { window: 1_000_000, answer: 8_192 },
  llama4: { window: 1_000_000, answer: 8_192 },
  mistral: { window: 131_072, answer: 8_192 },
  'mistral-7b': { window: 32_768, answer: 8_192 },
  mixtral: { window: 32_768, answer: 8_192 },
  codestral: { window: 256_000, answer: 8_192 },
  devstral: { window: 131_072, answer: 8_192 },
};

const unknownWindow: ModelWindow = { window: 128_000, answer: 16_384 };

/** Tokens that a request to the model may have. `model` may stand behind its maker: `openai/gpt-5`. */
export function defaultBudget(model: string): number {
  const name = model.toLowerCase().slice(model.lastIndexOf('/') + 1);
  const known = Object.keys(windows).filter((prefix) => name.startsWith(prefix));
  const longest = known.toSorted((a, b) => b.length - a.length)[0] ?? '';
  const { window, answer } = windows[longest] ?? unknownWindow;
  return window - answer;
}
