import { Brand, MadeWith, useBrand } from './brand.tsx'
import type { SeenBrand } from './seen-brand.ts'

/** The look of an account on a screen without a session. Loaded only if there is one. */
export default function SignedOutBrand({ brand, at }: { brand: SeenBrand; at: 'top' | 'foot' }) {
  if (at === 'foot') return <MadeWith branding={brand} />
  return <BrandOfWindow brand={brand} />
}

function BrandOfWindow({ brand }: { brand: SeenBrand }) {
  useBrand(brand, brand.account)
  return <Brand branding={brand} account={brand.account} />
}
