import { z } from 'zod'
import { BRAND_COLOUR } from '../brand-colour.ts'
import { apiSchema } from './api-schema.ts'

export const LOGO_LIMIT_BYTES = 256 * 1024
export const LOGO_LIMIT_PIXELS = 1_024
const NAME_LIMIT_CHARS = 80

const CONTROL_OR_DIRECTION = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u
/** They have a meaning in the header of a letter, or make a name look like an address. */
const OF_HEADERS = /[<>"@\\]/

/** Null: none was chosen. */
export const brandingSchema = apiSchema(
  'Branding',
  z.object({
    name: z.string().nullable().describe('Shown instead of the name of the account'),
    colour: z
      .string()
      .nullable()
      .describe('`#rrggbb`. Links and buttons have the nearest shade that can be read'),
    sender_name: z.string().nullable().describe('The name in `From` of letters'),
    show_prepaint: z.boolean().describe('Whether screens and letters say that they are made with Prepaint'),
    logo_url: z
      .string()
      .nullable()
      .describe('The path of the logo, which everybody can open; it is another one after each change'),
  }),
)

export type BrandingView = z.infer<typeof brandingSchema>

export const NO_BRANDING: BrandingView = {
  name: null,
  colour: null,
  sender_name: null,
  show_prepaint: true,
  logo_url: null,
}

const nameField = z
  .string()
  .trim()
  .min(1, { error: 'must have 1 to 80 characters' })
  .refine((name) => [...name].length <= NAME_LIMIT_CHARS, { error: 'must have 1 to 80 characters' })
  .refine((name) => !CONTROL_OR_DIRECTION.test(name) && name.isWellFormed(), {
    error: 'must not contain control or direction characters',
  })
  // Mail programs would decode it to characters that are refused above (RFC 2047, section 2).
  .refine((name) => !name.includes('=?'), { error: 'must not contain =?' })

export const brandingBody = z
  .object({
    name: nameField.nullable(),
    colour: z
      .string()
      .toLowerCase()
      .regex(BRAND_COLOUR, { error: 'must be a colour such as #0f6d5e' })
      .nullable(),
    sender_name: nameField
      .refine((name) => !OF_HEADERS.test(name), { error: 'must not contain < > " @ or \\' })
      .nullable(),
    show_prepaint: z.boolean(),
  })
  .partial()
  .describe('What is absent stays; null: none')

export type BrandingChange = z.infer<typeof brandingBody>

export const brandingAnswer = z.object({ branding: brandingSchema })

export const logoParams = z.object({ key: z.string() })
