import { css } from './corpus/css.ts'
import { forms } from './corpus/forms.ts'
import { frameworks } from './corpus/frameworks.ts'
import { head } from './corpus/head.ts'
import { images } from './corpus/images.ts'
import { modules } from './corpus/modules.ts'
import { movement } from './corpus/movement.ts'
import { observers } from './corpus/observers.ts'
import { platform } from './corpus/platform.ts'
import { requests } from './corpus/requests.ts'
import { shadowDom } from './corpus/shadow-dom.ts'
import { state } from './corpus/state.ts'
import { streams } from './corpus/streams.ts'
import { timers } from './corpus/timers.ts'
import { trouble } from './corpus/trouble.ts'
import type { Theme } from './corpus-page.ts'

/** Every page, by subject, which is also the first label of its domain. */
export const CORPUS = {
  timers,
  requests,
  streams,
  observers,
  modules,
  images,
  'shadow-dom': shadowDom,
  css,
  forms,
  head,
  trouble,
  state,
  platform,
  movement,
  frameworks,
} satisfies Record<string, Theme>
