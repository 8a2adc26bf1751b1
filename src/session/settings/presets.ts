/** The endpoints behind provider names: an address, the API, and the variable for the key. */

export interface Preset {
  name: string;
  /** The API that the endpoint speaks: OpenAI's chat completions, or Anthropic's messages. */
  wire: 'openai' | 'anthropic';
  url: string;
  /** The variable that contains the key; null for a server on this machine, which needs no key. */
  keyVariable: string | null;
  /** A variable that can name another endpoint of this kind. */
  urlVariable: string | null;
}

export const presets = [
  {
    name: 'openai',
    wire: 'openai',
    url: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    urlVariable: 'OPENAI_BASE_URL',
  },
  {
    name: 'anthropic',
    wire: 'anthropic',
    url: 'https://api.anthropic.com',
    keyVariable: 'ANTHROPIC_API_KEY',
    urlVariable: 'ANTHROPIC_BASE_URL',
  },
  {
    name: 'gemini',
    wire: 'openai',
    url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyVariable: 'GEMINI_API_KEY',
    urlVariable: null,
  },
  {
    name: 'openrouter',
    wire: 'openai',
    url: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    urlVariable: null,
  },
  { name: 'ollama', wire: 'openai', url: 'http://127.0.0.1:11434/v1', keyVariable: null, urlVariable: null },
  { name: 'lmstudio', wire: 'openai', url: 'http://127.0.0.1:1234/v1', keyVariable: null, urlVariable: null },
  { name: 'llamacpp', wire: 'openai', url: 'http://127.0.0.1:8080/v1', keyVariable: null, urlVariable: null },
  { name: 'vllm', wire: 'openai', url: 'http://127.0.0.1:8000/v1', keyVariable: null, urlVariable: null },
] as const satisfies readonly Preset[];

export type PresetName = (typeof presets)[number]['name'];

export function findPreset(name: string): (Preset & { name: PresetName }) | undefined {
  return presets.find((preset) => preset.name === name);
}
