/** What a share link can show. A part is a group of actions (`share` in `roles.ts`). */
export const SHARE_PARTS = ['overview', 'traffic', 'incidents', 'pages', 'report'] as const

export type SharePart = (typeof SHARE_PARTS)[number]

/** Pages have addresses that may not be public. */
export const DEFAULT_SHARE_PARTS: readonly SharePart[] = SHARE_PARTS.filter((part) => part !== 'pages')
