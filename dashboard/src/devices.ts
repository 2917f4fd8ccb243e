import type { PageVariant } from '@prepaint/contract/page/page-id.ts'

/** A device as a heading or a choice. */
export const DEVICE_LABELS: Record<PageVariant, string> = { desktop: 'Desktop', mobile: 'Phone' }

/** Several devices within a sentence. */
export const DEVICES: Record<PageVariant, string> = { desktop: 'desktops', mobile: 'phones' }
