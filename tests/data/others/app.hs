module Main where

import qualified Data.Map as M

main :: IO ()
main = print (M.size (M.fromList [(1, 2), (3, 4)]))
