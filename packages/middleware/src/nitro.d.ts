import type { IncomingMessage } from 'node:http'
import type { PrepaintSiteOptions } from './index.d.ts'

export type PrepaintNitro = (event: {
  path: string
  node: { req: IncomingMessage }
}) => Promise<Response | undefined>

export function prepaint(options: PrepaintSiteOptions): PrepaintNitro
