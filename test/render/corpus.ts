import { css } from './corpus/css.ts'
import { forms } from './corpus/forms.ts'
import { frameworks } from './corpus/frameworks.ts'
import { head } from './corpus/head.ts'
import { images } from './corpus/images.ts'
import { modules } from './corpus/modules.ts'
import { movement } from './corpus/movement.ts'
import { observers } from './corpus/observers.ts'
import { platform } from './corpus/platform.ts'
import { redirects } from './corpus/redirects.ts'
import { requests } from './corpus/requests.ts'
import { shadowDom } from './corpus/shadow-dom.ts'
import { state } from './corpus/state.ts'
import { status } from './corpus/status.ts'
import { streams } from './corpus/streams.ts'
import { timers } from './corpus/timers.ts'
import { trouble } from './corpus/trouble.ts'
import type { Theme } from './corpus-page.ts'

/** Every page, by subject. */
export const CORPUS: readonly Theme[] = [
  timers,
  requests,
  streams,
  observers,
  modules,
  images,
  shadowDom,
  css,
  forms,
  head,
  status,
  redirects,
  trouble,
  state,
  platform,
  movement,
  frameworks,
]
