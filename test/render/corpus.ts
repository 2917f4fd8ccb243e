import * as content from './corpus/content.ts'
import * as network from './corpus/network.ts'
import * as scripts from './corpus/scripts.ts'
import * as time from './corpus/time.ts'
import type { Theme } from './corpus-page.ts'

/** Every page, by subject, which is also the first label of its domain. */
export const CORPUS: Readonly<Record<string, Theme>> = { ...time, ...network, ...content, ...scripts }
