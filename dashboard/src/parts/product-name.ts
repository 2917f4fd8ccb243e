/** What the product is called in titles of windows. An account may have its own name there: `useBrand`. */
export const product = { name: 'Prepaint' }
