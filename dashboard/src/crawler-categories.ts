import type { Settings } from './api/types.ts'

/** The categories of crawlers on all screens, in order. `colour`: in charts. */
export const CATEGORIES = [
  { category: 'search', label: 'Search', description: 'Google, Bing and others', colour: 0 },
  {
    category: 'ai',
    label: 'AI',
    description: 'Assistants, and crawlers that collect training data',
    colour: 1,
  },
  {
    category: 'social',
    label: 'Social previews',
    description: 'Link cards in social networks and messengers',
    colour: 2,
  },
  { category: 'seo', label: 'SEO tools', description: 'Ahrefs, Semrush and others', colour: 3 },
  { category: 'other', label: 'Other crawlers', description: 'Archives, monitors and others', colour: 7 },
] as const satisfies readonly { category: Category; label: string; description: string; colour: number }[]

/** AI crawlers whose purpose is known; without an entry of their own they are treated as `ai`. */
export const PURPOSES = [
  {
    category: 'ai-training',
    label: 'AI: training',
    description: 'Collect text for models: GPTBot, ClaudeBot, CCBot',
  },
  {
    category: 'ai-search',
    label: 'AI: search',
    description: 'For answers that cite pages: OAI-SearchBot, PerplexityBot',
  },
  {
    category: 'ai-user',
    label: 'AI: for a user',
    description: 'Read a page that someone asked about: ChatGPT-User',
  },
] as const satisfies readonly { category: Category; label: string; description: string }[]

export type Category = keyof Settings['categories']

export const CATEGORY_CHOICES = [...CATEGORIES, ...PURPOSES].map(({ category, label }) => ({
  value: category,
  label,
}))
