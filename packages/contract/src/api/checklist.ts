import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

/** The first steps of a domain, in this order. */
export const CHECKLIST_ITEMS = ['rendered', 'requests', 'crawler', 'notified', 'team'] as const

export const checklistSchema = apiSchema(
  'Checklist',
  z.object({
    items: z.array(
      z.object({
        item: z
          .enum(CHECKLIST_ITEMS)
          .describe(
            '`rendered`: a page was rendered; `requests`: requests arrive; `crawler`: a crawler visited; ' +
              '`notified`: somebody is told of trouble; `team`: the account has another member, or has invited one',
          ),
        done_at: z.iso
          .datetime({ precision: 3 })
          .nullable()
          .describe('When it was first seen to be done; it stays done. Null: not yet'),
      }),
    ),
    is_hidden: z.boolean().describe('Somebody has hidden the list, for all members'),
  }),
)

export const checklistAnswer = z.object({ domain: z.string(), checklist: checklistSchema })

export const hideChecklistBody = z.object({ is_hidden: z.boolean() })
