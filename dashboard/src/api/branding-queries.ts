import { queryOptions } from '@tanstack/react-query'
import { fieldQuery } from './queries.ts'
import type { Branding } from './types.ts'

/** How the account looks. It changes rarely, and the screen that changes it reads it again. */
export const brandingQuery = queryOptions({
  ...fieldQuery<Branding>(['branding'], '/api/account/branding', 'branding'),
  staleTime: 300_000,
})
