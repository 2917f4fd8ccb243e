import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'

/** The categories of AI crawlers whose purpose is known. Without a choice of their own they are treated as `ai`. */
type AiPurpose = Extract<CrawlerCategory, `ai-${string}`>

type CategoryWords = {
  label: string
  description: string
  /** What a site loses if these crawlers are blocked. */
  cost: string
}

/** Charts show the purposes of AI crawlers as `ai`. */
type ChartedWords = CategoryWords & { chartColour: number }

type AllWords = { [Category in CrawlerCategory]: Category extends AiPurpose ? CategoryWords : ChartedWords }

/** The categories on all screens, in order. A new category of the contract does not compile without its words. */
const WORDS: AllWords = {
  search: {
    label: 'Search',
    description: 'Google, Bing and others',
    cost: 'the site disappears from Google, Bing and other search engines.',
    chartColour: 0,
  },
  ai: {
    label: 'AI',
    description: 'Assistants, and crawlers that collect training data',
    cost: 'AI crawlers of unknown purpose get nothing, nor do those of the next three without a choice of their own.',
    chartColour: 1,
  },
  'ai-training': {
    label: 'AI: training',
    description: 'Collect text for models: GPTBot, ClaudeBot, CCBot',
    cost: 'the site is not used for training; later models know it less. It is still shown in ChatGPT’s answers, which the next two serve.',
  },
  'ai-search': {
    label: 'AI: search',
    description: 'For answers that cite pages: OAI-SearchBot, PerplexityBot',
    cost: 'the site is not shown in ChatGPT’s, Claude’s or Perplexity’s answers.',
  },
  'ai-user': {
    label: 'AI: for a user',
    description: 'Read a page that someone asked about: ChatGPT-User',
    cost: 'someone who asks an assistant about a page gets nothing of it.',
  },
  social: {
    label: 'Social previews',
    description: 'Link cards in social networks and messengers',
    cost: 'links to the site have no title, text or picture in social networks and messengers.',
    chartColour: 2,
  },
  seo: {
    label: 'SEO tools',
    description: 'Ahrefs, Semrush and others',
    cost: 'SEO tools learn nothing new about the site, for your own reports too.',
    chartColour: 3,
  },
  other: {
    label: 'Other crawlers',
    description: 'Archives, monitors and others',
    cost: 'archives, monitors and feed readers stop working for the site.',
    chartColour: 7,
  },
}

export const CATEGORIES = Object.keys(WORDS) as CrawlerCategory[]

export const CATEGORY_CHOICES = CATEGORIES.map((category) => ({
  value: category,
  label: WORDS[category].label,
}))

export function wordsOfCategory(category: CrawlerCategory): CategoryWords {
  return WORDS[category]
}

/** Names a category that the server sent. The server may be newer than this dashboard, and know more categories. */
export function categoryLabel(category: string): string {
  return isKnown(category) ? WORDS[category].label : category
}

/** The categories that charts show, with their colours. */
export const CHART_CATEGORIES = Object.entries(WORDS).flatMap(([category, words]) =>
  'chartColour' in words ? [{ category, label: words.label, colour: words.chartColour }] : [],
)

/** Traffic counts crawlers without a known name as `other`. */
export function crawlerName(name: string): string {
  return name === 'other' ? 'Unknown crawler' : name
}

function isKnown(category: string): category is CrawlerCategory {
  return Object.hasOwn(WORDS, category)
}
