import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PrepaintSiteOptions } from './index.d.ts'

export type PrepaintExpress = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

export function prepaint(options: PrepaintSiteOptions): PrepaintExpress
