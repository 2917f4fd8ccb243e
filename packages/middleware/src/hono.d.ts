import type { PrepaintOptions } from './index.d.ts'

export type PrepaintHono = (
  c: { req: { raw: Request } },
  next: () => Promise<void>,
) => Promise<Response | undefined>

export function prepaint(options: PrepaintOptions): PrepaintHono
