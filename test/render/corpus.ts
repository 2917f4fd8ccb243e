import { frameworks } from './corpus/frameworks.ts'
import { markup } from './corpus/markup.ts'
import { platform } from './corpus/platform.ts'
import { requests } from './corpus/requests.ts'
import { time } from './corpus/time.ts'
import type { Theme } from './corpus-page.ts'

/** Every page, by subject, which is also the first label of its domain. */
export const CORPUS = { time, requests, markup, platform, frameworks } satisfies Record<string, Theme>
