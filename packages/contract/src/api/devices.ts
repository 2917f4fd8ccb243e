import { z } from 'zod'
import { DEVICE_DIFFERENCES } from '../settings/devices.ts'
import { domainSettingsSchema } from '../settings/domain-settings.ts'
import { apiSchema } from './api-schema.ts'
import { queuedJobSchema } from './pages.ts'

const time = z.iso.datetime({ precision: 3 }).nullable()

export const devicesSchema = apiSchema(
  'Devices',
  z.object({
    domain: z.string(),
    devices: domainSettingsSchema.shape.devices,
    finding: z
      .enum(['alike', 'different'])
      .nullable()
      .describe('`different`: at least one compared page differs; null: none was compared yet'),
    checked_at: time.describe('The last comparison; null: none yet'),
    pages: z
      .array(
        z.object({
          path: z.string(),
          alike: z.boolean().nullable().describe('null: its first comparison is under way'),
          differences: z
            .array(z.enum(DEVICE_DIFFERENCES))
            .describe('Between the pages for desktops and phones'),
          checked_at: time,
        }),
      )
      .describe('By path'),
  }),
)

export const checkDevicesBody = z
  .object({
    paths: z
      .array(z.string().startsWith('/', 'must start with /'))
      .min(1)
      .max(10)
      .optional()
      .describe('Default: those that crawlers asked for most in the last week, else `/`'),
  })
  .nullish()

export const checkDevicesAnswer = z.object({ domain: z.string(), jobs: z.array(queuedJobSchema) })
