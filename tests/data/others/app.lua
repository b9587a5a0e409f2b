local t = {}
for i = 1, 10 do t[i] = i * 2 end
print(#t)
